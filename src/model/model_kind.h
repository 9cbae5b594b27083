// A kind of model: what it is called, which numbers of a ModelSpec shape it, and how it is made.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "thalweg/status.h"

namespace thalweg {

// One a file in this folder; what a model of an application's own is as well, see ModelSpec::kinds.
struct ModelKind {
  std::string_view name;  // As --model says it.
  bool factors =
      false;  // Has a table of factors: ModelSpec::rank, init_scale and factors mean something to it.
  bool fields =
      false;  // Each entry needs a field below ModelSpec::fields; the factors of a key have as many parts.
  // Called once a thread. The spec's rank and fields are in their limits where they mean something.
  std::unique_ptr<Model> (*make)(const ModelSpec& spec) = nullptr;
};
using ModelKinds = std::vector<const ModelKind*>;

// The built-in ones, then `more`.
ModelKinds model_kinds(const ModelKinds& more = {});
// Of spec.name. kUsage names those that there are.
Result<const ModelKind*> find_kind(const ModelSpec& spec);

}  // namespace thalweg
