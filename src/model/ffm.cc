// Field-aware factorization machine (Juan, Zhuang, Chin, Lin 2016, RecSys): key i has a factor for each
// field, and the pairwise part of a row's score is sum_{i<j} <v_{i, field(j)}, v_{j, field(i)}> x_i x_j.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "model/model_kind.h"
#include "model/scorer.h"

namespace thalweg {
namespace {

// kRank 0: the rank is known at run time only. Fixed ranks let the compiler keep a pair's factors in vector
// registers.
template <std::size_t kRank>
class FieldAwareMachine final : public Scorer {
 public:
  explicit FieldAwareMachine(const ModelSpec& spec) : Scorer(spec) {}

  std::vector<TableSpec> tables() const override {
    std::vector<TableSpec> all = Scorer::tables();
    all.push_back(factor_table(spec().rank * spec().fields));
    return all;
  }

  Status validate(const Batch& batch) const override { return check_fields(batch, spec()); }

  void add_scores(const LocalBatch& batch, TableRows above, std::span<float> scores) override {
    const std::span<const float> factors = above[0];
    THALWEG_CHECK(factors.size() == batch.keys().size() * key_floats(), "factors of the batch's keys");
    THALWEG_CHECK(batch.rows().fields.size() == batch.local().size(), "validate() came first");
    for (std::size_t r = 0; r < scores.size(); ++r) {
      float score = 0.0f;
      const auto fetch = [&](std::size_t begin) { fetch_row(factors.data() + begin); };
      for_pairs(batch, r, fetch, [&](std::size_t left, std::size_t right, float x) {
        const float* const a = factors.data() + left;
        const float* const b = factors.data() + right;
        std::array<float, 4> sums{};
        const std::size_t k = rank();
        for (std::size_t f = 0; f + 4 <= k; f += 4) {
          for (std::size_t i = 0; i < 4; ++i) sums[i] += a[f + i] * b[f + i];
        }
        for (std::size_t f = k & ~std::size_t{3}; f < k; ++f) sums[f & 3] += a[f] * b[f];
        score += x * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
      });
      scores[r] += score;
    }
  }

  void add_gradients(const LocalBatch& batch, TableRows above, std::span<const float> slopes,
                     TableGrads grads_above) override {
    const std::span<const float> factors = above[0];
    const std::span<float> grads = grads_above[0];
    const auto fetch = [&](std::size_t begin) {
      fetch_row(factors.data() + begin);
      fetch_row(grads.data() + begin);
    };
    for (std::size_t r = 0; r < slopes.size(); ++r) {
      for_pairs(batch, r, fetch, [&, slope = slopes[r]](std::size_t left, std::size_t right, float x) {
        const float scale = slope * x;
        const float* const a = factors.data() + left;
        const float* const b = factors.data() + right;
        float* const ga = grads.data() + left;
        float* const gb = grads.data() + right;
        // A key repeated in one field pairs with itself, left == right; each loop then adds its half.
        if constexpr (kRank > 0) {
          add_scaled(scale, b, ga);
          add_scaled(scale, a, gb);
        } else {
          for (std::size_t f = 0; f < rank(); ++f) ga[f] += scale * b[f];
          for (std::size_t f = 0; f < rank(); ++f) gb[f] += scale * a[f];
        }
      });
    }
  }

 private:
  // In one vector: the compiler cannot know that two rows do not overlap.
  static void add_scaled(float scale, const float* from, float* to) {
    typedef float Factor __attribute__((vector_size(kRank * sizeof(float))));
    Factor added, sum;
    std::memcpy(&added, from, sizeof added);
    std::memcpy(&sum, to, sizeof sum);
    sum += scale * added;
    std::memcpy(to, &sum, sizeof sum);
  }

  std::size_t rank() const { return kRank > 0 ? kRank : spec().rank; }
  std::size_t key_floats() const { return rank() * spec().fields; }

  void fetch_row(const float* row) const {
    constexpr std::size_t kLineFloats = 16;
    for (std::size_t f = 0; f < key_floats(); f += kLineFloats) __builtin_prefetch(row + f);
  }

  // visit(offset of v_{i, field(j)}, offset of v_{j, field(i)}, x_i x_j) for each pair i < j of entries of
  // row r; meanwhile fetch(offset of a key's factors) for entries of the next row, which are anywhere.
  template <class Fetch, class Visit>
  void for_pairs(const LocalBatch& batch, std::size_t r, Fetch fetch, Visit visit) {
    const Batch& rows = batch.rows();
    const std::size_t begin = rows.row_begin[r], count = rows.row_begin[r + 1] - begin;
    places_.resize(count);
    for (std::size_t i = 0; i < count; ++i)
      places_[i] = {batch.local()[begin + i] * key_floats(), rows.fields[begin + i] * rank()};
    const std::size_t next = begin + count,
                      next_end = rows.row_begin[std::min(r + 2, rows.row_begin.size() - 1)];
    const float* const values = rows.values.empty() ? nullptr : rows.values.data() + begin;
    for (std::size_t i = 0; i < count; ++i) {
      const auto [base, column] = places_[i];
      if (next + i < next_end) fetch(batch.local()[next + i] * key_floats());
      for (std::size_t j = i + 1; j < count; ++j) {
        const float x = values == nullptr ? 1.0f : values[i] * values[j];
        visit(base + places_[j].column, places_[j].base + column, x);
      }
    }
  }

  // Where an entry's factors begin, and in those of others the one for its field.
  struct Place {
    std::size_t base, column;
  };
  std::vector<Place> places_;
};

std::unique_ptr<Model> make_ffm(const ModelSpec& spec) {
  switch (spec.rank) {
    case 4:
      return std::make_unique<FieldAwareMachine<4>>(spec);
    case 8:
      return std::make_unique<FieldAwareMachine<8>>(spec);
    default:
      return std::make_unique<FieldAwareMachine<0>>(spec);
  }
}

}  // namespace

extern constinit const ModelKind kFieldAwareKind = {
    .name = "ffm", .factors = true, .fields = true, .make = make_ffm};

}  // namespace thalweg
