// A table's update rule: its state's width and first value, and its application to blocks of rows.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "table/table.h"
#include "table/update_kernels.h"
#include "thalweg/options.h"
#include "thalweg/status.h"

namespace thalweg {

class UpdateRule {
 public:
  // Refuses numbers for which the formula is undefined (a rate of 0 in FTRL, a beta of 1, a NaN).
  static Status check(const RuleSpec& rule, const CustomRule* custom);
  UpdateRule(const RuleSpec& rule, std::size_t dim, std::shared_ptr<const CustomRule> custom);
  UpdateRule(const UpdateRule&) = delete;
  UpdateRule& operator=(const UpdateRule&) = delete;

  std::size_t state_floats() const { return state_floats_; }
  // Rule `assign`: of several contributions the last wins; all others are summed.
  bool last_wins() const { return facts_.last_wins; }
  bool is_custom() const { return custom_ != nullptr; }
  // Fills the state of a row that has its initial value.
  void fill_state(std::span<const float> row, std::span<float> state) const;
  // Rows of `width` floats as they are stored: those without state get that of a row that begins so. The
  // result is in `rows` or in `made`.
  std::span<const float> stored(std::span<const float> rows, std::size_t width,
                                std::vector<float>& made) const;
  // Applies the rule once to each stored row (dim floats, then the state); grads holds count * dim floats.
  void update_rows(float* const* rows, const float* grads, std::size_t count) const;
  // The same to rows kept as planes. A custom rule's state is planes.state0, state_floats() a row.
  void update_planes(const RowPlanes& planes, const float* grads, std::size_t count) const;

 private:
  UpdateParams params_;
  RuleFacts facts_;  // Of a custom rule: none.
  std::vector<AdamFactors> factors_;
  std::shared_ptr<const CustomRule> custom_;
  std::size_t state_floats_ = 0;
};

}  // namespace thalweg
