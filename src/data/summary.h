// What is in a data set, and cutting one in two.
#pragma once

#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "data/data_set.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

// The number of distinct keys in bounded memory: exact up to kExactKeys, then estimated by HyperLogLog
// (Flajolet, Fusy, Gandouet, Meunier 2007) with 2^14 registers, standard error 0.8 %.
class DistinctKeys {
 public:
  static constexpr std::size_t kExactKeys = std::size_t{1} << 20;
  DistinctKeys();
  void add(Key key);
  bool exact() const { return !slots_.empty(); }
  double count() const;

 private:
  void note(std::uint64_t hash);

  std::vector<Key> slots_;  // Open addressing, 2 * kExactKeys; emptied when they are too many.
  std::size_t used_ = 0;
  std::vector<std::uint8_t> registers_;
};

struct Summary {
  std::uint64_t rows = 0;
  std::uint64_t positives = 0;  // Labels above 0.
  float smallest_label = std::numeric_limits<float>::infinity();
  float largest_label = -std::numeric_limits<float>::infinity();
  bool weighted = false;  // Some example weight is not 1.
  std::uint64_t entries = 0;
  std::uint64_t fewest_entries = UINT64_MAX;  // In a row.
  std::uint64_t most_entries = 0;
  std::uint64_t values_not_one = 0;
  float smallest_value = std::numeric_limits<float>::infinity();
  float largest_value = -std::numeric_limits<float>::infinity();
  double distinct_keys = 0;
  bool distinct_keys_exact = true;
  Key smallest_key = kReservedKey;
  Key largest_key = 0;
  std::uint32_t fields = 0;  // Largest field number + 1; 0: the format has no fields.
  std::uint64_t bad_rows = 0;
  std::vector<std::string> bad_row_examples;  // Messages with file:line:column.
};

// One pass over the data. Rows are only counted as bad as far as options().max_bad_rows allows.
Result<Summary> summarize(DataSet& data);

struct SplitReport {
  std::uint64_t rows_kept = 0, rows_held_out = 0;
  std::uint64_t rows_left_out = 0;  // Bad ones, where rows are looked at.
};

// Writes rows N, 2N, ... (from 1) to held_out and the others to kept, as they stand and unpacked; a header
// goes to both, blank lines and comments to neither. With keep_lines and answer_bad_rows among the options
// bad rows are left out, and counted, as --valid-part counts them; without, no row is looked at.
Result<SplitReport> split_rows(DataSet& data, std::uint64_t modulus, std::ostream& kept,
                               std::ostream& held_out);

}  // namespace thalweg
