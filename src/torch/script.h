// A user's module in TorchScript, saved by torch.jit.save() or torch.jit.script(model).save().
#pragma once

#include <memory>

#include "torch/network.h"

namespace thalweg {

// ModelSpec::script can be read and fits the spec's sizes; those of 0 are not known yet.
Status check_script(const ModelSpec& spec);
std::unique_ptr<Network> make_script(const ModelSpec& spec);

}  // namespace thalweg
