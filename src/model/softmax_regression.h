// Softmax regression on sparse features.
#pragma once

#include <memory>

#include "model/scorer.h"

namespace thalweg {

// Precondition: spec.loss is that of classes.
std::unique_ptr<Model> make_softmax_regression(const ModelSpec& spec);

}  // namespace thalweg
