// Floats of a table as a tensor.
#pragma once

#include <ATen/ATen.h>

#include <span>

namespace thalweg {

// PyTorch has no tensors of what must not change: only such are written to whose values may be.
inline at::Tensor tensor_over(std::span<const float> values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(values.data()), shape, at::TensorOptions().dtype(at::kFloat));
}

}  // namespace thalweg
