// What the kinds of dense models have in common: the component makes them.
#pragma once

#include <memory>

#include "model/model_kind.h"
#include "thalweg/status.h"

namespace thalweg {

Status check_dense_kind(const ModelSpec& spec);
std::unique_ptr<Model> make_dense(const ModelSpec& spec);

}  // namespace thalweg
