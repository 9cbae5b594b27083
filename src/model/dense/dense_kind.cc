#include "model/dense/dense_kind.h"

#include "base/check.h"
#include "model/dense/component.h"

namespace thalweg {

Status check_dense_kind(const ModelSpec& spec) {
  const auto component = dense_component();
  return component ? (*component)->check(spec) : component.status();
}

std::unique_ptr<Model> make_dense(const ModelSpec& spec) {
  const auto component = dense_component();
  THALWEG_CHECK(component.ok(), "check_dense_kind() has loaded it");
  return (*component)->make(spec);
}

}  // namespace thalweg
