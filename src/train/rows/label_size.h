// How far labels of squared loss are from those near 1 that default rates are for.
#pragma once

#include <optional>
#include <string>

#include "data/order/label_spread.h"
#include "thalweg/options.h"

namespace thalweg {

struct LabelSize {
  double times = 1;  // What default rates are multiplied by.
  double mean = 0;   // What the bias begins with.
  bool is_usual() const { return times == 1 && mean == 0; }
};

LabelSize label_size(const LabelSpread& labels);

// The score of a model that says the mean label of every row, by logistic loss; nothing where no row was
// seen.
std::optional<float> log_odds(const LabelSpread& labels);

// Whether a step is of the rate's size, however large gradients are. Other rules' steps follow them.
bool steps_by_rate(RuleKind kind);

// One line for people; empty where labels are of the usual size.
std::string label_size_note(const LabelSpread& labels);

}  // namespace thalweg
