// Softmax regression on sparse features (multinomial logistic regression): a class's score is its bias and a
// weight for each entry, its probability e^score over the sum of all classes' (Bishop, Pattern Recognition
// and Machine Learning, 4.3.4). A row of each table has a float a class.
#include "model/softmax_regression.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/loss_kernels.h"

namespace thalweg {
namespace {

class SoftmaxRegression final : public Model {
 public:
  explicit SoftmaxRegression(const ModelSpec& spec) : spec_(spec), classes_(spec.classes) {
    scores_.resize(classes_);
  }

  std::vector<TableSpec> tables() const override {
    std::vector<TableSpec> tables = linear_tables(spec_);
    for (TableSpec& table : tables) table.dim = classes_;
    return tables;
  }

  Status validate(const Batch&) const override { return ok_status(); }

  LossSum forward(const LocalBatch& batch, TableRows rows, std::span<float> scores) override {
    return go_over(batch, rows, scores, {});
  }

  LossSum gradient(const LocalBatch& batch, TableRows rows, std::span<float> scores,
                   TableGrads grads) override {
    for (const std::span<float> table : grads) std::fill(table.begin(), table.end(), 0.0f);
    return go_over(batch, rows, scores, grads);
  }

  bool score_classes(const LocalBatch& batch, TableRows rows, std::vector<float>& scores) override {
    scores.clear();
    for (std::size_t r = 0; r < batch.size(); ++r) {
      score_row(batch, rows, r);
      scores.insert(scores.end(), scores_.begin(), scores_.end());
    }
    return true;
  }

 private:
  LossSum go_over(const LocalBatch& batch, TableRows rows, std::span<float> scores, TableGrads grads) {
    THALWEG_CHECK(rows.size() == 2 && rows[0].size() == classes_ &&
                      rows[1].size() == batch.keys().size() * classes_ && scores.size() == batch.size(),
                  "a float a class of the bias and of each of the batch's keys");
    LossSum sum;
    sum.rows = batch.size();
    for (std::size_t r = 0; r < batch.size(); ++r) {
      score_row(batch, rows, r);
      const auto best = std::max_element(scores_.begin(), scores_.end());
      scores[r] = static_cast<float>(best - scores_.begin());
      const float weight = batch.rows().weights.empty() ? 1.0f : batch.rows().weights[r];
      // Without labels that are needed, as for predictions, they are any numbers.
      const float label = batch.rows().labels[r];
      const bool known = label >= 0 && label < static_cast<float>(classes_);
      const std::size_t own = known ? static_cast<std::size_t>(label) : 0;
      sum.loss += static_cast<double>(weight) * to_slopes(*best, own, weight);
      sum.weight += static_cast<double>(weight);
      if (!grads.empty()) add_row(batch, r, grads);
    }
    return sum;
  }

  // Into scores_.
  void score_row(const LocalBatch& batch, TableRows rows, std::size_t r) {
    std::copy(rows[0].begin(), rows[0].end(), scores_.begin());
    const Batch& all = batch.rows();
    for (std::size_t e = all.row_begin[r]; e < all.row_begin[r + 1]; ++e) {
      const float* const weights = rows[1].data() + std::size_t{batch.local()[e]} * classes_;
      const float value = all.values.empty() ? 1.0f : all.values[e];
      for (std::size_t c = 0; c < classes_; ++c) scores_[c] += weights[c] * value;
    }
  }

  // Of the scores in scores_, which become the slopes of the row's loss times its weight; returns the loss.
  double to_slopes(float best, std::size_t own, float weight) {
    const float own_score = scores_[own];
    float all = 0;
    for (float& score : scores_) all += score = exp_kernel(score - best);
    const float scale = weight / all;
    for (float& score : scores_) score *= scale;
    scores_[own] -= weight;
    return log_kernel(static_cast<double>(all)) + static_cast<double>(best - own_score);
  }

  void add_row(const LocalBatch& batch, std::size_t r, TableGrads grads) const {
    for (std::size_t c = 0; c < classes_; ++c) grads[0][c] += scores_[c];
    const Batch& all = batch.rows();
    for (std::size_t e = all.row_begin[r]; e < all.row_begin[r + 1]; ++e) {
      float* const out = grads[1].data() + std::size_t{batch.local()[e]} * classes_;
      const float value = all.values.empty() ? 1.0f : all.values[e];
      for (std::size_t c = 0; c < classes_; ++c) out[c] += scores_[c] * value;
    }
  }

  const ModelSpec spec_;
  const std::uint32_t classes_;
  std::vector<float> scores_;  // Of the row at hand, a class each; then their slopes.
};

}  // namespace

std::unique_ptr<Model> make_softmax_regression(const ModelSpec& spec) {
  return std::make_unique<SoftmaxRegression>(spec);
}

}  // namespace thalweg
