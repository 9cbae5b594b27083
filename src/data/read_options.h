// What to read and how, as plain values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "thalweg/ids.h"
#include "thalweg/row_order.h"
#include "thalweg/status.h"

namespace thalweg {

struct RowFormat;  // reader/row_format.h
class MemoryRows;  // memory/memory_rows.h

// Which rows of the data are read, when every N-th row is held out.
enum class Part : std::uint8_t { kAll, kTrain, kHeldOut };

// Which pieces of a text are rows.
struct TextWindows {
  std::uint32_t context = 0;  // Bytes of a row; 0: files hold rows, not text.
  Part part = Part::kAll;
  std::uint64_t parts = 0;  // N: the last N-th part of each file is held out. Used unless kAll.
};

// In which order a data shard's rows come; the same for the same seed, wherever they are read.
struct RowShuffle {
  RowOrder order = RowOrder::kFiles;
  std::uint64_t seed = 0;
  std::uint64_t pool_bytes = 0;  // kRows: of a shard's RowPool, roughly. RowReader itself draws no rows.
  bool operator==(const RowShuffle&) const = default;
};

// What rows may have so that a model can take them; 0: anything.
struct RowBounds {
  Key keys_below = 0;
  std::uint32_t fields_below = 0;
  std::uint32_t entries_most = 0;
  std::uint64_t pixels =
      0;  // Of each image, neither more nor fewer, unless keys are hashed. Seen to by open().
  bool any() const { return keys_below != 0 || fields_below != 0 || entries_most != 0; }
};

inline constexpr std::string_view kNoWeights = "-";  // As a weight_column: no column is one of weights.

struct ReadOptions {
  std::vector<std::string> paths;  // Files, globs, or "-" for standard input.
  std::string format = "auto";     // Its name; auto: found by looking at the first rows.
  std::uint64_t max_bad_rows =
      0;                   // Rows that may be skipped as bad before reading fails; 0: the first one fails.
  RowBounds bounds;        // A row beyond them is bad.
  unsigned hash_bits = 0;  // 1..63: keys are hashed to this many bits. 0: 64-bit keys as they stand.
  // Products of entries that follow a row's own, see pair/interactions.h. Fields of VW text and JSON lines
  // are then those of hashed_field(). Empty: none.
  std::string interactions;
  Part part = Part::kAll;
  std::uint64_t part_modulus =
      0;  // N: rows N, 2N, ... over all files (from 1) are held out. Used unless kAll.
  bool binary_labels =
      false;                  // A label must be -1, 0 or 1, and -1 becomes 0; it is free if it is not needed.
  std::uint32_t classes = 0;  // A label must be a whole number below this; 0: any number.
  bool counts = false;        // A label must be at least 0.
  bool keep_lines = false;    // RowReader::lines() has the text of rows.
  bool answer_bad_rows =
      false;                 // A bad row is counted as skipped, and is a row without entries, see RowLines.
  bool as_it_comes = false;  // Rows of a pipe are handed out as soon as they are there. For one data shard.
  // False: labels and weights are not used, and may be missing but in libsvm and libffm.
  bool labels_needed = true;
  // CSV: what each column is; see columns.h for the language. Empty: the header and the first rows decide.
  // JSON lines: what members are; the others are what their values are, but for what is guessed.
  std::string columns;
  bool guess_members = false;  // JSON lines: of members that nothing says, as of columns.
  // Where a training goes on: those of the keys that its model has learnt. What is chosen by looking at rows
  // is then chosen for the other features alone, beside what is told of these.
  std::function<Result<std::unordered_set<Key>>(const std::unordered_set<Key>&)> learnt;
  // CSV: what the columns of the data were that the model learnt from, as columns_text() says it; `columns`
  // and the names below go before it. Empty: there is no such data.
  std::string known_columns;
  // CSV, where `columns` says what columns are: of which data their numbers have the scales, as
  // known_columns.
  std::string known_numbers;
  bool choose_scales = false;  // CSV: numbers whose scale is not told are divided by one that is chosen.
  // Where rows have no columns: what values of these features are divided by, "3/312,7/0.002", by their keys,
  // which are hashed unless there are `interactions`. And whether they are chosen where none are told.
  std::string value_scales;
  bool choose_value_scales = false;
  // CSV and JSON lines: what the label is called. Empty: label, target, click, clicked or y.
  std::string label_column;
  std::string weight_column;  // And the example's weight. Empty: "weight" if there is one.
  bool names_weights() const { return !weight_column.empty() && weight_column != kNoWeights; }
  RowShuffle shuffle;           // Plain files and rows in memory are read in parts of random order.
  bool look_at_labels = false;  // For DataSet::label_spread().
  bool hash_text = false;  // For RowReader::text_hash(); takes a twentieth of the time of parsing libsvm.
  // A file is the output of this command, see command_output.h; paths are names that it knows, no globs.
  std::string from_command;
  std::chrono::nanoseconds command_timeout = std::chrono::minutes(5);  // See command_output.h.
  TextWindows text;
  bool is_of_part() const { return part != Part::kAll || text.part != Part::kAll; }

  // Paths that stand for rows in memory.
  std::map<std::string, std::shared_ptr<const MemoryRows>> memory;
  std::vector<const RowFormat*> formats;  // Beside the built-in ones; they outlive the data set.
};

// Limits of reading, in one place.
inline constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxBatchEntries = std::size_t{1} << 28;
inline constexpr std::size_t kHeadBytes = std::size_t{64} << 10;  // Looked at to find the format, and more
inline constexpr std::size_t kHeadRows = 100;                     // where that is fewer rows behind a header.
inline constexpr std::size_t kBlockBytes = std::size_t{128} << 10;    // Read at once from a plain file.
inline constexpr std::size_t kMinChunkBytes = std::size_t{16} << 10;  // Plain files: bounds of a chunk.
inline constexpr std::size_t kMaxChunkBytes = std::size_t{1} << 20;
inline constexpr std::size_t kStreamChunkBytes = std::size_t{64} << 10;  // Compressed files and pipes.
inline constexpr std::size_t kComputedRowsPerChunk = 4;                  // Images and windows of text.
inline constexpr std::size_t kComputedReadBytes = std::size_t{8} << 10;  // And read at once.
inline constexpr std::size_t kStashBytes = std::size_t{32} << 20;  // Chunks that wait for slower shards.
inline constexpr std::size_t kMaxOpenFiles = 256;                  // Kept open at once by a data set.
inline constexpr std::size_t kTextPad = 128;                       // Readable bytes after a block's end.

}  // namespace thalweg
