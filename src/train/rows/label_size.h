// How far labels of squared and Poisson loss are from those near 1 that default rates are for.
#pragma once

#include <optional>
#include <string>

#include "data/order/label_spread.h"
#include "thalweg/loss.h"
#include "thalweg/options.h"

namespace thalweg {

struct LabelSize {
  double times = 1;  // What default rates are multiplied by.
  double mean = 0;   // What the bias begins with.
  double steep = 1;  // What default rates of rules whose steps follow slopes are divided by.
  bool is_usual() const { return times == 1 && mean == 0; }
};

inline bool has_label_size(Loss loss) { return loss == Loss::kSquared || loss == Loss::kPoisson; }
// `loss`: kSquared or kPoisson, of which the bias is a logarithm.
LabelSize label_size(const LabelSpread& labels, Loss loss);

// The score of a model that says the mean label of every row, by logistic loss; nothing where no row was
// seen.
std::optional<float> log_odds(const LabelSpread& labels);

// Whether a step is of the rate's size, however large gradients are. Other rules' steps follow them.
bool steps_by_rate(RuleKind kind);

// One line for people; empty where labels are of the usual size.
std::string label_size_note(const LabelSpread& labels, Loss loss);
// That labels of squared loss are rounded to floats by more than a tenth of what they differ by; else empty.
std::string rounded_labels(const LabelSpread& labels);

}  // namespace thalweg
