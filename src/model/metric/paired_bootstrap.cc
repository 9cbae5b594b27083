#include "model/metric/paired_bootstrap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "model/metric/pair_sum.h"
#include "model/metric/precision_sum.h"

namespace thalweg {
namespace {

using RowSums = MetricSums::Sums;
constexpr std::array kSummed = {&RowSums::weight,       &RowSums::loss,       &RowSums::square,
                                &RowSums::correct,      &RowSums::prediction, &RowSums::label,
                                &RowSums::label_square, &RowSums::absolute,   &RowSums::label_log};
constexpr std::size_t kScoreCells = 1024;
// Of 65,536 draws those below the first count 0 times, below the second once, and so on: the distribution
// function of the Poisson distribution of mean 1, such that the mean is exact.
constexpr std::array<std::uint32_t, 7> kPoissonSteps = {24109, 48218, 60273, 64292, 65296, 65497, 65531};

std::size_t score_cell(float score) {
  const float scaled = (score + 16.0f) * 32.0f;
  return scaled > 0.0f ? static_cast<std::size_t>(std::min(scaled, static_cast<float>(kScoreCells - 1))) : 0;
}

void add_times(double* sums, const std::vector<double>& times, double value) {
  for (std::size_t c = 0; c < times.size(); ++c) sums[c] += times[c] * value;
}

double quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

PairedBootstrap::PairedBootstrap(Loss loss, std::size_t models, std::size_t resamples, std::uint64_t seed)
    : loss_(loss), columns_(resamples + 1), random_(seed), times_(columns_, 1.0), models_(models) {
  THALWEG_CHECK(is_of_score(loss), "rows have one score each");
  for (Columns& model : models_) {
    model.sums.resize(kSummed.size() * columns_);
    if (loss == Loss::kLogistic) model.cells.resize(2 * kScoreCells * columns_);
  }
}

void PairedBootstrap::draw() {
  std::uint64_t bits = 0;
  for (std::size_t c = 1; c < columns_; ++c, bits >>= 16) {
    if (c % 4 == 1) bits = random_.next();
    const auto draw = static_cast<std::uint32_t>(bits & 0xffff);
    std::uint32_t times = 0;
    for (const std::uint32_t step : kPoissonSteps) times += draw >= step ? 1 : 0;
    times_[c] = times;
  }
}

void PairedBootstrap::add_row(Columns& to, float score, float label, float weight) {
  MetricSums row(loss_);
  row.add({&score, 1}, {&label, 1}, {&weight, 1});
  for (std::size_t s = 0; s < kSummed.size(); ++s) {
    add_times(to.sums.data() + s * columns_, times_, row.sums().*kSummed[s]);
  }
  if (to.cells.empty()) return;
  const std::size_t cell = 2 * score_cell(score) + (label > 0 ? 1 : 0);
  add_times(to.cells.data() + cell * columns_, times_, static_cast<double>(weight));
}

void PairedBootstrap::add(std::span<const std::span<const float>> scores, std::span<const float> labels,
                          std::span<const float> weights) {
  for (std::size_t row = 0; row < labels.size(); ++row) {
    draw();
    for (std::size_t m = 0; m < models_.size(); ++m) {
      add_row(models_[m], scores[m][row], labels[row], weights.empty() ? 1.0f : weights[row]);
    }
  }
}

Measured PairedBootstrap::measured(const Columns& of, std::size_t column) const {
  Measured out;
  for (std::size_t s = 0; s < kSummed.size(); ++s) out.sums.*kSummed[s] = of.sums[s * columns_ + column];
  if (of.cells.empty()) return out;
  const auto weight = [&](std::size_t cell, std::size_t positive) {
    return of.cells[(2 * cell + positive) * columns_ + column];
  };
  PairSum pairs;
  PrecisionSum precision;
  for (std::size_t cell = 0; cell < kScoreCells; ++cell) {
    const std::size_t down = kScoreCells - 1 - cell;
    pairs.add_group(weight(cell, 1), weight(cell, 0));
    precision.add_group(weight(down, 1), weight(down, 0));
  }
  out.auc = pairs.value();
  out.average_precision = precision.value();
  return out;
}

PairedBootstrap::Interval PairedBootstrap::difference(const Metric& metric, std::size_t model) const {
  constexpr double kOutside = 0.025;
  const auto at = [&](std::size_t column) {
    return metric.value(loss_, measured(models_[model], column)) -
           metric.value(loss_, measured(models_.front(), column));
  };
  const double all_rows = at(0);
  std::vector<double> distances;
  for (std::size_t c = 1; c < columns_; ++c) {
    const double distance = at(c) - all_rows;
    if (std::isfinite(distance)) distances.push_back(distance);  // A resample may have one label alone.
  }
  if (distances.empty()) {
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  }
  std::sort(distances.begin(), distances.end());
  return {quantile(distances, kOutside), quantile(distances, 1 - kOutside)};
}

}  // namespace thalweg
