// A network as a model of the trainer: its parameters are dense tables, its gradients come by autograd.
#pragma once

#include <memory>

#include "model/model.h"
#include "torch/network.h"

namespace thalweg {

std::unique_ptr<Model> make_torch_model(const ModelSpec& spec, std::unique_ptr<Network> network);

}  // namespace thalweg
