// A parameter of a network as a dense table, and rows of tables as tensors.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <span>

#include "base/mix.h"
#include "thalweg/options.h"
#include "torch/network.h"

namespace thalweg {

// `number`: of the table among the model's, so that each begins with values of its own.
inline TableSpec table_of(const Parameter& parameter, const RuleSpec& rule, std::uint64_t seed,
                          std::size_t number) {
  constexpr std::uint64_t kRangesMax = 32;
  TableSpec table;
  table.kind = TableSpec::Kind::kDense;
  table.name = parameter.name;
  table.rows = static_cast<std::uint64_t>(parameter.shape[0]);
  for (std::size_t d = 1; d < parameter.shape.size(); ++d)
    table.dim *= static_cast<std::uint32_t>(parameter.shape[d]);
  table.ranges = static_cast<std::uint16_t>(std::min(table.rows, kRangesMax));
  table.rule = rule;
  table.init = {parameter.init, parameter.scale, place(seed ^ place(number))};
  return table;
}

// PyTorch has no tensors of what must not change: only such are written to whose values may be.
inline at::Tensor tensor_over(std::span<const float> values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(values.data()), shape, at::TensorOptions().dtype(at::kFloat));
}

}  // namespace thalweg
