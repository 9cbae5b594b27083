#include "model/metric/paired_bootstrap.h"

#include <algorithm>
#include <array>

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
std::size_t score_cell(float score) {
  const float scaled = (score + 16.0f) * 32.0f;
  return scaled > 0.0f ? static_cast<std::size_t>(std::min(scaled, static_cast<float>(kScoreCells - 1))) : 0;
}

void add_times(double* sums, const std::vector<double>& times, double value) {
  for (std::size_t c = 0; c < times.size(); ++c) sums[c] += times[c] * value;
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
    draw_times(random_, times_);
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

Spread PairedBootstrap::difference(const Metric& metric, std::size_t model) const {
  std::vector<double> differences;  // A resample may have one label alone, and no number here.
  for (std::size_t c = 0; c < columns_; ++c) {
    differences.push_back(metric.value(loss_, measured(models_[model], c)) -
                          metric.value(loss_, measured(models_.front(), c)));
  }
  return interval_of_distances(differences);
}

}  // namespace thalweg
