#include "model/scorer.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace thalweg {
namespace {

// Four sums hide the latency of an addition; their order is fixed, so the bits are too.
template <bool kHasValues>
float linear_score(const std::uint32_t* local, const float* values, std::size_t count, const float* weights) {
  std::array<float, 4> sums{};
  std::size_t e = 0;
  for (; e + 4 <= count; e += 4) {
    for (std::size_t i = 0; i < 4; ++i) {
      const float weight = weights[local[e + i]];
      sums[i] += kHasValues ? weight * values[e + i] : weight;
    }
  }
  for (std::size_t i = 0; e < count; ++e, ++i) {
    sums[i] += kHasValues ? weights[local[e]] * values[e] : weights[local[e]];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void score_linear(const LocalBatch& batch, float bias, std::span<const float> weights,
                  std::span<float> scores) {
  const Batch& rows = batch.rows();
  for (std::size_t r = 0; r < scores.size(); ++r) {
    const std::size_t begin = rows.row_begin[r];
    const std::size_t count = rows.row_begin[r + 1] - begin;
    const std::uint32_t* const local = batch.local().data() + begin;
    scores[r] = bias + (rows.values.empty()
                            ? linear_score<false>(local, nullptr, count, weights.data())
                            : linear_score<true>(local, rows.values.data() + begin, count, weights.data()));
  }
}

void add_linear_gradients(const LocalBatch& batch, std::span<const float> slopes, std::span<float> grads) {
  const Batch& rows = batch.rows();
  const std::uint32_t* const local = batch.local().data();
  float* const out = grads.data();
  for (std::size_t r = 0; r < slopes.size(); ++r) {
    const float slope = slopes[r];
    const std::size_t end = rows.row_begin[r + 1];
    if (rows.values.empty()) {
      for (std::size_t e = rows.row_begin[r]; e < end; ++e) out[local[e]] += slope;
    } else {
      for (std::size_t e = rows.row_begin[r]; e < end; ++e) out[local[e]] += slope * rows.values[e];
    }
  }
}

}  // namespace

std::vector<TableSpec> linear_tables(const ModelSpec& spec) {
  TableSpec bias;
  bias.kind = TableSpec::Kind::kDense;
  bias.name = "bias";
  bias.rows = 1;
  bias.ranges = 1;
  bias.rule = spec.weights;
  bias.rule.rate = spec.bias_rate.value_or(spec.weights.rate);
  if (spec.bias_init != 0) bias.init = {InitSpec::Kind::kConstant, spec.bias_init, 0};
  bias.rule.l1 = bias.rule.l2 = 0;  // A penalty would pull the mean prediction away from the mean label.
  TableSpec weights;
  weights.name = "weights";
  weights.rule = spec.weights;
  return {bias, weights};
}

std::vector<TableSpec> Scorer::tables() const { return linear_tables(spec_); }

TableSpec Scorer::factor_table(std::uint32_t dim) const {
  TableSpec factors;
  factors.name = "factors";
  factors.dim = dim;
  factors.rule = spec_.factors;
  factors.init = {InitSpec::Kind::kNormal, spec_.init_scale, spec_.seed};
  return factors;
}

Status Scorer::validate(const Batch&) const { return ok_status(); }

Status check_fields(const Batch& batch, const ModelSpec& spec) {
  if (batch.fields.size() != batch.entries()) {
    return {Code::kData, "model " + spec.name +
                             " needs a field for each entry, and the data has none; expected a format with "
                             "fields, such as libffm"};
  }
  for (std::size_t r = 0; r < batch.rows(); ++r) {
    for (std::size_t e = batch.row_begin[r]; e < batch.row_begin[r + 1]; ++e) {
      if (batch.fields[e] < spec.fields) continue;
      return {Code::kData, "row " + std::to_string(r) + ", entry " + std::to_string(e - batch.row_begin[r]) +
                               ": field " + std::to_string(batch.fields[e]) +
                               " is out of range; expected less than " + std::to_string(spec.fields)};
    }
  }
  return ok_status();
}

void Scorer::check_shapes(const LocalBatch& batch, TableRows rows, std::span<const float> scores) const {
  THALWEG_CHECK(rows.size() >= 2 && rows[0].size() == 1 && rows[1].size() == batch.keys().size(),
                "bias and weights of the batch's keys");
  THALWEG_CHECK(scores.size() == batch.size(), "one score a row");
}

LossSum Scorer::forward(const LocalBatch& batch, TableRows rows, std::span<float> scores) {
  score(batch, rows, scores);
  return sum_losses(spec_.loss, scores, batch.rows().labels, batch.rows().weights, {});
}

LossSum Scorer::score(const LocalBatch& batch, TableRows rows, std::span<float> scores) {
  check_shapes(batch, rows, scores);
  score_linear(batch, rows[0][0], rows[1], scores);
  if (rows.size() > 2) add_scores(batch, rows.subspan(2), scores);
  return {};
}

LossSum Scorer::gradient(const LocalBatch& batch, TableRows rows, std::span<float> scores, TableGrads grads) {
  THALWEG_CHECK(grads.size() == rows.size(), "one gradient a table");
  for (std::size_t t = 0; t < grads.size(); ++t) {
    THALWEG_CHECK(grads[t].size() == rows[t].size(), "gradients have the shape of the rows");
    std::fill(grads[t].begin(), grads[t].end(), 0.0f);
  }
  score(batch, rows, scores);
  if (spec_.score_shift != 0) {
    for (float& score : scores) score += spec_.score_shift;
  }
  slopes_.resize(batch.size());
  const LossSum sum = sum_losses(spec_.loss, scores, batch.rows().labels, batch.rows().weights, slopes_);
  float bias = 0;
  for (const float slope : slopes_) bias += slope;
  grads[0][0] = bias;
  add_linear_gradients(batch, slopes_, grads[1]);
  if (rows.size() > 2) add_gradients(batch, rows.subspan(2), slopes_, grads.subspan(2));
  return sum;
}

}  // namespace thalweg
