// Beside the linear part, half the squared length of the sum of a row's factors: 1/2 |sum_i v_i x_i|^2.
// Unlike fm, an entry counts with itself too.
#include <cstddef>
#include <memory>
#include <vector>

#include "model/model_kind.h"
#include "model/scorer.h"

namespace thalweg {
namespace {

class SquareModel final : public Scorer {
 public:
  explicit SquareModel(const ModelSpec& spec) : Scorer(spec) {}

  std::vector<TableSpec> tables() const override {
    std::vector<TableSpec> all = Scorer::tables();
    all.push_back(factor_table(spec().rank));
    return all;
  }

  void add_scores(const LocalBatch& batch, TableRows above, std::span<float> scores) override {
    const std::span<const float> factors = above[0];
    sums_.assign(scores.size() * spec().rank, 0.0f);
    for_entries(batch, [&](std::size_t row, std::size_t key, float x) {
      for (std::size_t f = 0; f < spec().rank; ++f) sums_[row + f] += factors[key + f] * x;
    });
    for (std::size_t r = 0; r < scores.size(); ++r) {
      for (std::size_t f = 0; f < spec().rank; ++f) {
        const float sum = sums_[r * spec().rank + f];
        scores[r] += 0.5f * sum * sum;
      }
    }
  }

  // d(score)/d(v_i) = x_i sum_j v_j x_j, which add_scores() has left in sums_.
  void add_gradients(const LocalBatch& batch, TableRows, std::span<const float> slopes,
                     TableGrads grads) override {
    for_entries(batch, [&](std::size_t row, std::size_t key, float x) {
      const float scale = slopes[row / spec().rank] * x;
      for (std::size_t f = 0; f < spec().rank; ++f) grads[0][key + f] += scale * sums_[row + f];
    });
  }

 private:
  // visit(place of the row's sum, place of the key's factor, value) for each entry.
  template <class Visit>
  void for_entries(const LocalBatch& batch, Visit visit) const {
    const Batch& rows = batch.rows();
    for (std::size_t r = 0; r < batch.size(); ++r) {
      for (std::size_t e = rows.row_begin[r]; e < rows.row_begin[r + 1]; ++e) {
        visit(r * spec().rank, batch.local()[e] * std::size_t{spec().rank},
              rows.values.empty() ? 1.0f : rows.values[e]);
      }
    }
  }

  std::vector<float> sums_;
};

std::unique_ptr<Model> make_square(const ModelSpec& spec) { return std::make_unique<SquareModel>(spec); }

}  // namespace

extern constinit const ModelKind kSquareKind = {.name = "square", .factors = true, .make = make_square};

}  // namespace thalweg
