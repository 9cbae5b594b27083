// Factorization machine of degree 2 (Rendle 2010, ICDM): the pairwise part of a row's score is
// sum_{i<j} <v_i, v_j> x_i x_j = 1/2 sum_f [(sum_i v_if x_i)^2 - sum_i (v_if x_i)^2], linear in entries and
// rank.
#include <array>
#include <cstddef>

#include "base/check.h"
#include "model/model_kind.h"
#include "model/scorer.h"

namespace thalweg {
namespace {

// kRank 0: the rank is known at run time only. Fixed ranks let the compiler keep a row's sums in vector
// registers.
template <std::size_t kRank>
class FactorizationMachine final : public Scorer {
 public:
  explicit FactorizationMachine(const ModelSpec& spec)
      : Scorer(spec), sums_(spec.rank), squares_(spec.rank) {}

  std::vector<TableSpec> tables() const override {
    std::vector<TableSpec> all = Scorer::tables();
    all.push_back(factor_table(spec().rank));
    return all;
  }

  void add_scores(const LocalBatch& batch, TableRows above, std::span<float> scores) override {
    const std::span<const float> factors = above[0];
    THALWEG_CHECK(factors.size() == batch.keys().size() * rank(), "factors of the batch's keys");
    row_sums_.resize(scores.size() * rank());
    const bool has_values = !batch.rows().values.empty();
    for (std::size_t r = 0; r < scores.size(); ++r) {
      scores[r] +=
          has_values ? score_row<true>(batch, r, factors.data()) : score_row<false>(batch, r, factors.data());
    }
  }

  // d(score)/d(v_if) = x_i (sum_j v_jf x_j - v_if x_i); add_scores() has left each row's sums in row_sums_.
  void add_gradients(const LocalBatch& batch, TableRows above, std::span<const float> slopes,
                     TableGrads grads_above) override {
    const std::span<const float> factors = above[0];
    const std::span<float> grads = grads_above[0];
    const bool has_values = !batch.rows().values.empty();
    for (std::size_t r = 0; r < slopes.size(); ++r) {
      if (has_values) {
        add_row_gradients<true>(batch, r, factors.data(), slopes[r], grads.data());
      } else {
        add_row_gradients<false>(batch, r, factors.data(), slopes[r], grads.data());
      }
    }
  }

 private:
  std::size_t rank() const { return kRank > 0 ? kRank : sums_.size(); }

  template <bool kHasValues>
  float score_row(const LocalBatch& batch, std::size_t r, const float* factors) {
    const Batch& rows = batch.rows();
    const std::uint32_t* const local = batch.local().data();
    const std::size_t k = rank();
    std::array<float, kRank> fixed_sums, fixed_squares;
    float* const sums = kRank > 0 ? fixed_sums.data() : sums_.data();
    float* const squares = kRank > 0 ? fixed_squares.data() : squares_.data();
    for (std::size_t f = 0; f < k; ++f) sums[f] = squares[f] = 0.0f;
    for (std::size_t e = rows.row_begin[r]; e < rows.row_begin[r + 1]; ++e) {
      const float* const v = factors + local[e] * k;
      const float x = kHasValues ? rows.values[e] : 1.0f;
      for (std::size_t f = 0; f < k; ++f) {
        const float term = kHasValues ? v[f] * x : v[f];
        sums[f] += term;
        squares[f] += term * term;
      }
    }
    float* const kept = row_sums_.data() + r * k;
    float score = 0.0f;
    for (std::size_t f = 0; f < k; ++f) {
      kept[f] = sums[f];
      score += sums[f] * sums[f] - squares[f];
    }
    return 0.5f * score;
  }

  template <bool kHasValues>
  void add_row_gradients(const LocalBatch& batch, std::size_t r, const float* factors, float slope,
                         float* grads) {
    const Batch& rows = batch.rows();
    const std::uint32_t* const local = batch.local().data();
    const std::size_t k = rank();
    std::array<float, kRank> fixed_sums;
    float* const sums = kRank > 0 ? fixed_sums.data() : sums_.data();
    for (std::size_t f = 0; f < k; ++f) sums[f] = row_sums_[r * k + f];
    for (std::size_t e = rows.row_begin[r]; e < rows.row_begin[r + 1]; ++e) {
      const float* __restrict const v = factors + local[e] * k;
      float* __restrict const g = grads + local[e] * k;
      const float x = kHasValues ? rows.values[e] : 1.0f;
      const float scale = kHasValues ? slope * x : slope;
      for (std::size_t f = 0; f < k; ++f) g[f] += scale * (sums[f] - (kHasValues ? v[f] * x : v[f]));
    }
  }

  std::vector<float> sums_;
  std::vector<float> squares_;
  std::vector<float> row_sums_;
};

std::unique_ptr<Model> make_fm(const ModelSpec& spec) { return make_factorization_machine(spec); }

}  // namespace

std::unique_ptr<Scorer> make_factorization_machine(const ModelSpec& spec) {
  switch (spec.rank) {
    case 4:
      return std::make_unique<FactorizationMachine<4>>(spec);
    case 8:
      return std::make_unique<FactorizationMachine<8>>(spec);
    case 16:
      return std::make_unique<FactorizationMachine<16>>(spec);
    case 32:
      return std::make_unique<FactorizationMachine<32>>(spec);
    default:
      return std::make_unique<FactorizationMachine<0>>(spec);
  }
}

extern constinit const ModelKind kFactorizationKind = {.name = "fm", .factors = true, .make = make_fm};

}  // namespace thalweg
