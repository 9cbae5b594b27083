// A perceptron over the factors of a factorization machine, as a model of the trainer.
#pragma once

#include <memory>

#include "model/model.h"

namespace thalweg {

std::unique_ptr<Model> make_deepfm(const ModelSpec& spec);

}  // namespace thalweg
