// What is to be known of a built-in update rule besides its formula.
#pragma once

#include <span>

#include "base/rule_fields.h"
#include "thalweg/options.h"

namespace thalweg {

struct RuleFacts {
  int states = 0;               // Floats of state for each of a row.
  bool counts_updates = false;  // A row has the number of its updates as one float more, and factors by that.
  bool last_wins = false;       // Of several contributions; else they are summed.
  // The state of a row that has its first value, without the number of updates; null where it is 0.
  void (*fill_state)(const RuleSpec& rule, std::span<const float> row, std::span<float> state) = nullptr;
};

}  // namespace thalweg
