// A made data set in the shape of Criteo's click logs, from a seed: 13 skewed numeric fields that share a
// latent normal and 26 categorical fields with the cardinalities Criteo published and Zipf frequencies.
// Labels come from a hidden logistic model with two interaction terms, so that the best possible AUC and
// logloss are known.
#pragma once

#include <array>
#include <cstdint>
#include <ostream>
#include <vector>

#include "data/read_options.h"
#include "data/zipf.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::size_t kSynthFields = 39;

struct SynthRow {
  std::array<std::uint32_t, kSynthFields> values;  // In [0, cardinality) of the field.
  double probability;                              // Of a positive label, by the hidden model.
  bool positive;
};

// Immutable; row i is a pure function of (seed, day, i). From one day to the next the hidden model drifts:
// its weights have a correlation of 0.98, of days further apart a lower one. The ids are those of all days.
class SynthSource {
 public:
  explicit SynthSource(std::uint64_t seed, std::uint32_t day = 0);
  SynthRow row(std::uint64_t index) const;
  // Of the field's value 0, among all ids (from 0); offset(39) is their number.
  std::uint32_t offset(std::size_t field) const { return offsets_[field]; }
  double bias() const { return bias_; }

 private:
  // A field's frequent values lie anywhere in it: value = (rank * multiplier + shift) mod cardinality.
  struct Category {
    Zipf zipf;
    std::uint64_t multiplier, shift;
  };
  double draw(Random& random, SynthRow& row) const;
  double weight(std::uint64_t id, bool numeric) const;

  std::uint64_t seed_;
  std::uint32_t day_;
  double first_part_ = 1, other_part_ = 0;  // Of the first day's weights, and of others drawn beside them.
  double bias_ = 0;                         // Such that 23.3 % of the rows are expected to be positive.
  std::array<std::uint32_t, kSynthFields + 1> offsets_{};
  std::vector<Category> categories_;
  std::array<std::uint8_t, 4096> bucket_of_level_{};
};

struct SynthOptions {
  std::uint64_t rows = 1'000'000;
  std::uint64_t seed = 1;
  std::string format = "libsvm";  // libsvm, libffm or criteo.
  std::uint32_t day = 0;
};

struct SynthReport {
  std::uint64_t rows = 0, positives = 0, bytes = 0, ids = 0;
  double oracle_auc = 0;  // Of the true probabilities: from a histogram of 2^20 bins, exact to about 1e-6.
  double oracle_logloss = 0;  // Natural logarithm, a row.
};

Result<SynthReport> synthesize(const SynthOptions& options, std::ostream& out);

}  // namespace thalweg
