#include "train/advice/train_advice.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "base/hint.h"
#include "train/advice/extreme_value.h"

namespace thalweg {
namespace {

constexpr double kFirstPassSlack = 1.1;
constexpr double kOverfitted = 1.01;
constexpr int kDivergedTimes = 1000;
constexpr float kLargeValue = 1000;  // From which on no rate helps.

double held_out_loss(Loss loss, const EpochNumbers& epoch) {
  return judging_metric(loss).value(loss, epoch.valid);
}

// How many times another one few rows may have a loss by chance.
double of_chance(const Measured& rows) { return 1 + 1 / std::sqrt(static_cast<double>(rows.sums.rows)); }

// Rows of the first pass are scored by a model that has yet to learn.
double slack_of_pass(const std::vector<EpochNumbers>& epochs) {
  return epochs.size() == 1 ? kFirstPassSlack : 1;
}

double slack_of_sample(const std::vector<EpochNumbers>& epochs) {
  return slack_of_pass(epochs) * of_chance(epochs.back().sampled);
}

}  // namespace

std::optional<std::uint32_t> best_epoch(Loss loss, const std::vector<EpochNumbers>& epochs) {
  std::optional<std::uint32_t> best;
  for (std::uint32_t e = 0; e < epochs.size(); ++e) {
    if (!epochs[e].has_valid || !std::isfinite(held_out_loss(loss, epochs[e]))) continue;
    if (!best || held_out_loss(loss, epochs[e]) < held_out_loss(loss, epochs[*best])) best = e;
  }
  return best;
}

std::size_t scored_since_best(Loss loss, const std::vector<EpochNumbers>& epochs) {
  const std::size_t best = best_epoch(loss, epochs).value_or(0);
  std::size_t scored = 0;
  for (std::size_t e = best + 1; e < epochs.size(); ++e) scored += epochs[e].has_valid ? 1 : 0;
  return scored;
}

Standing standing_on(std::string rows, JudgedBy by, const Measured& measured) {
  const Metric& judge = judging_metric(by.loss);
  Standing out;
  out.rows = std::move(rows);
  out.loss_name = judge.name;
  out.loss = judge.value(by.loss, measured);
  out.is_of_text = by.loss == Loss::kBytes;
  if (by.loss != Loss::kClasses) {
    out.untrained = judge.untrained(measured);
  } else if (by.classes != 0) {
    out.untrained = std::log(by.classes);
  }
  if (is_of_score(by.loss)) {
    out.constant = judge.constant(measured);
  } else if (measured.sums.weight > 0) {
    out.constant = out.untrained;
  }
  out.auc = kAuc.value(by.loss, measured);
  return out;
}

std::optional<Standing> on_held_out_rows(JudgedBy by, const std::vector<EpochNumbers>& epochs) {
  if (epochs.empty() || !epochs.back().has_valid) return std::nullopt;
  return standing_on("held-out", by, epochs.back().valid);
}

std::optional<Standing> on_trained_rows(JudgedBy by, const std::vector<EpochNumbers>& epochs) {
  if (epochs.empty() || epochs.back().sampled.sums.rows == 0) return std::nullopt;
  return standing_on("train", by, epochs.back().sampled);
}

std::string worse_than_none(const Standing& standing, double slack) {
  std::vector<std::string> worse;
  const auto add = [&](std::string_view name, double value, double none) {
    worse.push_back(fmt::format("the {} {} of {:.5g} is worse than that of no features at all, {:.5g}",
                                standing.rows, name, value, none));
  };
  constexpr double kRounding = 1e-6;
  const double bound = slack * standing.constant * (1 + kRounding);
  if (standing.constant > 0 && !(standing.loss <= bound)) {
    add(standing.loss_name, standing.loss, standing.constant);
  }
  if (standing.auc < 0.5 / slack) add(kAuc.name, standing.auc, 0.5);
  if (worse.empty()) return {};
  const char* const of_values =
      standing.is_of_text
          ? ""
          : "large values that are not scaled and ids read as numbers (see thalweg data stats), ";
  return fmt::format(
      "{}; common causes: {}too high or too low a --rate, too few steps (see --batch and --epochs), held-out "
      "rows unlike the training rows",
      fmt::join(worse, ", and "), of_values);
}

std::string worse_than_none(JudgedBy by, const std::vector<EpochNumbers>& epochs) {
  if (const auto held_out = on_held_out_rows(by, epochs)) return worse_than_none(*held_out);
  const auto trained = on_trained_rows(by, epochs);
  return trained ? worse_than_none(*trained, slack_of_sample(epochs)) : std::string();
}

std::string worse_than_chance(std::string rows, JudgedBy by, const Measured& measured, double slack) {
  const Standing standing = standing_on(std::move(rows), by, measured);
  if (!(standing.constant > 0)) return {};
  if (standing.loss <= slack * of_chance(measured) * standing.constant) return {};
  return fmt::format("the {} {} of {:.5g} is worse than that of no features at all, {:.5g}", standing.rows,
                     standing.loss_name, standing.loss, standing.constant);
}

std::string worse_than_chance(JudgedBy by, const std::vector<EpochNumbers>& epochs) {
  if (epochs.empty()) return {};
  const EpochNumbers& last = epochs.back();
  if (last.has_valid) return worse_than_chance("held-out", by, last.valid);
  if (last.sampled.sums.rows == 0) return {};
  return worse_than_chance("train", by, last.sampled, slack_of_pass(epochs));
}

std::string worse_before_learnt(JudgedBy by, const std::vector<EpochNumbers>& epochs,
                                const Measured& learnt) {
  if (std::string text = worse_than_none(standing_on("learnt rows'", by, learnt)); !text.empty()) return text;
  const auto before = on_trained_rows(by, epochs);
  // Later passes learn what the first one has learnt already.
  if (!before || epochs.size() > 1 || worse_than_chance(by, epochs).empty()) return {};
  return fmt::format(
      "rows had a {} of {:.5g} before they were learnt, worse than that of no features at all, {:.5g}, and "
      "have {:.5g} by the model; held-out rows tell how it does on others: --valid-part 10",
      before->loss_name, before->loss, before->constant, judging_metric(by.loss).value(by.loss, learnt));
}

std::string worse_by(JudgedBy by, const std::vector<EpochNumbers>& epochs,
                     const std::optional<Measured>& learnt) {
  return learnt ? worse_before_learnt(by, epochs, *learnt) : worse_than_none(by, epochs);
}

std::string nothing_weighed(const std::vector<EpochNumbers>& epochs) {
  if (epochs.empty()) return {};
  const EpochNumbers& last = epochs.back();
  const MetricSums::Sums& sampled = last.sampled.sums;
  if (sampled.rows == 0 || sampled.weight != 0 || last.train.weight != 0) return {};
  return "all rows have the weight 0, so that nothing was learnt";
}

std::string diverged(const Standing& standing) {
  const std::string name = fmt::format("the {} {}", standing.rows, standing.loss_name);
  if (!std::isfinite(standing.loss)) return name + " is not finite";
  if (standing.untrained <= 0 || standing.loss <= kDivergedTimes * standing.untrained) return {};
  return fmt::format(
      "{} of {:.4g} is more than {} times the {:.4g} of a model with no weights: training has diverged", name,
      standing.loss, kDivergedTimes, standing.untrained);
}

std::string training_diverged(JudgedBy by, const std::vector<EpochNumbers>& epochs) {
  auto trained = on_trained_rows(by, epochs);
  const auto held_out = on_held_out_rows(by, epochs);
  if (!trained || epochs.back().train.weight <= 0 || (held_out && diverged(*held_out).empty())) return {};
  const double mean = epochs.back().train.loss / epochs.back().train.weight;
  trained->loss = judging_metric(by.loss).of_mean_loss(mean);
  return diverged(*trained);
}

std::string overfitted(Loss loss, const std::vector<EpochNumbers>& epochs) {
  const auto best = best_epoch(loss, epochs);
  if (!best) return {};
  const double lowest = held_out_loss(loss, epochs[*best]);
  if (held_out_loss(loss, epochs.back()) <= kOverfitted * lowest) return {};
  return fmt::format("held-out {} was lowest after epoch {}, at {:.5f}", judging_metric(loss).name, *best + 1,
                     lowest);
}

std::string one_label(Loss loss, const Measured& rows) {
  if (rows.sums.rows > 0 && rows.sums.weight <= 0)
    return "all rows that the model was measured on weigh 0, so there is no measure of it";
  const double mean = kMeanLabel.value(loss, rows);
  if (kAuc.told(loss) == Told::kNoOne || (mean != 0 && mean != 1)) return {};
  return fmt::format("all rows that the model was measured on have the label {:g}, so there is no AUC", mean);
}

Status interrupted(std::string_view what, const std::string& not_kept, const std::string& out) {
  if (out.empty()) return {Code::kAborted, "interrupted; without --out nothing is saved"};
  if (not_kept.empty()) return {Code::kAborted, fmt::format("interrupted; {} is saved", what)};
  return with_hint({Code::kAborted, fmt::format("interrupted; {} is not saved: {}", what, not_kept)},
                   "--keep-bad saves it all the same");
}

Status with_cause(const Status& status, const DataSet* data) {
  if (status.code() != Code::kNonFinite) return status;
  if (data == nullptr) return with_hint(status, "the workers, which have the data, name its largest value");
  if (data->options().text.context != 0) return with_hint(status, "lower --rate");
  const auto extreme = find_extreme_value(*data);
  if (!extreme) return with_hint(status, "lower --rate, unless thalweg data stats shows extreme values");
  const Status said(status.code(), fmt::format("{}; the largest value is {:g}, {} at {}", status.message(),
                                               extreme->value, extreme->what, extreme->where));
  if (std::abs(extreme->value) <= kLargeValue) return with_hint(said, "lower --rate");
  if (extreme->is_label) return with_hint(said, "scale the labels to values of about 1");
  return with_hint(said, fmt::format("scale {} to values of about 1, or leave it out", extreme->what));
}

}  // namespace thalweg
