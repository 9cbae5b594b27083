#include "train/rows/label_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/column/number_form.h"

namespace thalweg {
namespace {

constexpr double kSmallest = 0.2, kLargest = 5;

// Rounded, so that a few other rows leave it as it is.
double times_usual(double size) {
  constexpr int kDigits = 1;
  if (size <= 0 || (size >= kSmallest && size <= kLargest)) return 1;
  return static_cast<double>(rounded_to_digits(size, kDigits));
}

// Of a lognormal distribution of means, of which these are counts, the mean logarithm: that of the mean
// itself is far above it where few large ones make up most of the mean.
LabelSize size_of_counts(const LabelSpread& labels) {
  constexpr double kFar = 3;
  constexpr int kDigits = 3;
  if (labels.mean <= 0) return {};
  const double between =
      std::max(0.0, labels.deviation * labels.deviation - labels.mean);  // Means' variance.
  const double usual = std::log(labels.mean) - std::log1p(between / (labels.mean * labels.mean)) / 2;
  if (std::abs(usual) <= kFar) return {};
  // Slopes grow with means.
  return {1, static_cast<double>(rounded_to_digits(usual, kDigits)), std::max(1.0, labels.mean)};
}

// Of the mean: what is left out is little beside how much labels differ.
int digits_of_mean(const LabelSpread& labels) {
  constexpr int kUsual = 3, kMost = 9;  // Of a float.
  if (labels.deviation <= 0 || std::abs(labels.mean) <= 10 * labels.deviation) return kUsual;
  const double more = std::ceil(std::log10(std::abs(labels.mean) / (10 * labels.deviation)));
  return std::min(kMost, kUsual + static_cast<int>(more));
}

}  // namespace

LabelSize label_size(const LabelSpread& labels, Loss loss) {
  if (loss == Loss::kPoisson) return size_of_counts(labels);
  const bool from_zero = times_usual(std::max(std::abs(labels.mean), labels.deviation)) == 1;
  return {times_usual(labels.deviation),
          from_zero ? 0 : static_cast<double>(rounded_to_digits(labels.mean, digits_of_mean(labels)))};
}

std::optional<float> log_odds(const LabelSpread& labels) {
  constexpr int kDigits = 3;
  if (labels.rows == 0) return std::nullopt;
  const auto rows = static_cast<double>(labels.rows);
  const double positive = (labels.mean * rows + 0.5) / (rows + 1);  // Neither none nor all.
  return rounded_to_digits(std::log(positive / (1 - positive)), kDigits);
}

bool steps_by_rate(RuleKind kind) {
  switch (kind) {
    case RuleKind::kFtrl:
    case RuleKind::kAdagrad:
    case RuleKind::kRmsprop:
    case RuleKind::kAdam:
    case RuleKind::kAdamW:
      return true;
    default:
      return false;
  }
}

std::string rounded_labels(const LabelSpread& labels) {
  constexpr double kPartOfDeviation = 0.1;
  const auto mean = static_cast<float>(std::abs(labels.mean));
  const auto step = static_cast<double>(std::nextafter(mean, std::numeric_limits<float>::infinity()) - mean);
  // Different whole numbers are alike as floats where a step is more than 1.
  const bool all_alike = labels.deviation <= 0;
  if (all_alike ? step <= 1 : step <= kPartOfDeviation * labels.deviation) return {};
  return fmt::format(
      "labels are {:.3g} in the mean and differ by {:.3g}, and are read in single precision, which is to the "
      "nearest {:g} there: what is measured is of rounded ones; take {:.3g} off all, and add it to "
      "predictions",
      labels.mean, labels.deviation, step, labels.mean);
}

std::string label_size_note(const LabelSpread& labels, Loss loss) {
  const LabelSize size = label_size(labels, loss);
  if (size.is_usual()) return {};
  if (loss == Loss::kPoisson)
    return fmt::format(
        "labels are {:.3g} in the mean, with a standard deviation of {:.3g}: the bias begins with {:g}, the "
        "logarithm of usual ones",
        labels.mean, labels.deviation, size.mean);
  return fmt::format(
      "labels are {:.3g} in the mean, with a standard deviation of {:.3g}: the bias begins with {:g}, and "
      "rates "
      "that are not told are {:g} times those for labels near 1",
      labels.mean, labels.deviation, size.mean, size.times);
}

}  // namespace thalweg
