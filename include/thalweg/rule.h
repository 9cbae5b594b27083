// Update rules that an application brings along; a table asks for one with RuleKind::kCustom and its name.
#pragma once

#include <cstddef>
#include <span>

namespace thalweg {

// How the owner of a row applies a contribution. Called by several threads at once, for different rows, so it
// keeps nothing between calls but what is in the row and its state. For bits that repeat from run to run it
// depends on nothing else.
class CustomRule {
 public:
  virtual ~CustomRule() = default;
  // Floats of state that each row of `dim` floats keeps beside it; they start as 0. The same at every call,
  // and at most 2^20.
  virtual std::size_t state_floats(std::size_t dim) const = 0;
  // Once for each row that a step touches. `row`, `grad`: dim floats; `state`: state_floats(dim). `grad` is
  // the sum of all data shards' contributions to the step in sync mode, one shard's otherwise.
  virtual void update(std::span<float> row, std::span<float> state, std::span<const float> grad) const = 0;
};

}  // namespace thalweg
