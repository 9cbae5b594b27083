#include "train/held_out_summary.h"

#include <utility>
#include <vector>

namespace thalweg {

void HeldOutSummary::add(std::span<const float> scores, std::span<const float> labels,
                         std::span<const float> weights) {
  metrics_.add(scores, labels, weights);
  if (loss_ != Loss::kLogistic) return;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    auc_.add(scores[i], labels[i] > 0, weights.empty() ? 1.0f : weights[i]);
  }
}

void HeldOutSummary::add_batch(const LossSum& sum, std::span<const float> scores, const Batch& rows) {
  if (is_of_score(loss_)) return add(scores, rows.labels, rows.weights);
  metrics_.add_classes(sum, scores, rows.labels, rows.weights);
}

void HeldOutSummary::put(Writer& out) const {
  const MetricSums::Sums& s = metrics_.sums();
  out.put(s.rows);
  for (const double sum : {s.weight, s.loss, s.square, s.correct, s.prediction, s.label, s.label_square,
                           s.absolute, s.label_log}) {
    out.put(sum);
  }
  AucCounts auc = auc_;  // To be sorted.
  const auto cells = auc.cells();
  out.put(static_cast<std::uint8_t>(auc.has_nan() ? 1 : 0))
      .put(static_cast<std::uint8_t>(auc.bits_dropped()))
      .put(static_cast<std::uint32_t>(cells.size()));
  for (const AucCounts::Cell& cell : cells) out.put(cell.place).put(cell.positive).put(cell.negative);
}

std::optional<HeldOutSummary> HeldOutSummary::get(Reader& in, Loss loss) {
  MetricSums::Sums s;
  s.rows = in.get<std::uint64_t>();
  for (double* sum : {&s.weight, &s.loss, &s.square, &s.correct, &s.prediction, &s.label, &s.label_square,
                      &s.absolute, &s.label_log}) {
    *sum = in.get<double>();
  }
  const bool has_nan = in.get<std::uint8_t>() != 0;
  const unsigned bits_dropped = in.get<std::uint8_t>();
  std::vector<AucCounts::Cell> cells(
      in.get_count(kShardCellsMax, sizeof(std::uint32_t) + 2 * sizeof(double)));
  for (AucCounts::Cell& cell : cells) {
    cell.place = in.get<std::uint32_t>();
    cell.positive = in.get<double>();
    cell.negative = in.get<double>();
  }
  HeldOutSummary out(loss, kShardCellsMax);
  out.metrics_ = MetricSums(loss, s);
  if (in.ok() && out.auc_.assign(std::move(cells), bits_dropped, has_nan)) return out;
  in.fail();
  return std::nullopt;
}

}  // namespace thalweg
