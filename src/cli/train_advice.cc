#include "cli/train_advice.h"

#include <fmt/format.h>

#include <cmath>

namespace thalweg {
namespace {

constexpr double kClearlyWorse = 1.1;
constexpr double kOverfitted = 1.01;

double held_out_loss(Loss loss, const EpochNumbers& epoch) {
  return loss == Loss::kSquared ? epoch.valid.rmse : epoch.valid.logloss;
}

const char* held_out_name(Loss loss) { return loss == Loss::kSquared ? "held-out rmse" : "held-out logloss"; }

}  // namespace

std::optional<std::uint32_t> best_epoch(Loss loss, const std::vector<EpochNumbers>& epochs) {
  std::optional<std::uint32_t> best;
  for (std::uint32_t e = 0; e < epochs.size(); ++e) {
    if (!epochs[e].has_valid || !std::isfinite(held_out_loss(loss, epochs[e]))) continue;
    if (!best || held_out_loss(loss, epochs[e]) < held_out_loss(loss, epochs[*best])) best = e;
  }
  return best;
}

std::string worse_than_none(Loss loss, const std::vector<EpochNumbers>& epochs) {
  std::string name = held_out_name(loss);
  double value = 0, none = 0;
  if (const auto best = best_epoch(loss, epochs)) {
    value = held_out_loss(loss, epochs[*best]), none = epochs[*best].valid.no_model;
  } else if (loss == Loss::kLogistic && !epochs.empty() && epochs.back().train.weight > 0) {
    name = "train logloss";
    value = epochs.back().train.loss / epochs.back().train.weight;
    none = std::log(2.0);  // Of 0.5 for every row, since the mean label is not known.
  }
  if (none <= 0 || value <= kClearlyWorse * none) return {};
  return fmt::format(
      "the {} of {:.5g} is worse than that of no features at all, {:.5g}; common causes: large values that "
      "are not scaled and ids read as numbers (see thalweg data stats), too high a --rate, held-out rows "
      "unlike the training rows",
      name, value, none);
}

std::string overfitted(Loss loss, const std::vector<EpochNumbers>& epochs) {
  const auto best = best_epoch(loss, epochs);
  if (!best) return {};
  const double lowest = held_out_loss(loss, epochs[*best]);
  if (held_out_loss(loss, epochs.back()) <= kOverfitted * lowest) return {};
  return fmt::format("{} was lowest after epoch {}, at {:.5f}", held_out_name(loss), *best + 1, lowest);
}

std::string one_label(Loss loss, const MetricValues& values) {
  if (loss == Loss::kSquared || (values.mean_label != 0 && values.mean_label != 1)) return {};
  return fmt::format("all rows that the model was measured on have the label {:g}, so there is no AUC",
                     values.mean_label);
}

}  // namespace thalweg
