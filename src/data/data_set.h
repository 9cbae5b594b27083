// Training data: one or many files of rows, read by data shards.
//
// The text is cut into chunks and chunk i belongs to shard i mod shards, so a shard's rows, and their cut
// into batches, are a function of the data and the number of shards alone. Plain files are read directly by
// every shard; compressed files and pipes are unpacked once per pass for all the shards that this process
// reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/block.h"
#include "data/column/columns.h"
#include "data/input_files.h"
#include "data/order/label_spread.h"
#include "data/plain_blocks.h"
#include "data/read_options.h"
#include "data/reader/row_format.h"
#include "data/reader/row_parser.h"
#include "data/row_lines.h"
#include "data/scale/value_scales.h"
#include "data/stream_hub.h"
#include "thalweg/batch.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

class RowReader;

// Thread-safe; readers keep it alive.
class DataSet : public std::enable_shared_from_this<DataSet> {
 public:
  static Result<std::shared_ptr<DataSet>> open(ReadOptions options);

  const RowFormat& format() const { return *format_; }
  const ReadOptions& options() const { return options_; }  // With what was guessed of members.
  // Of the files as they lie on disk, of rows in memory a guess; 0: not known, some file is a pipe.
  std::uint64_t total_bytes() const { return total_bytes_; }
  // A hash of the files' order, sizes and heads; not of their names, which machines may give otherwise.
  std::uint64_t fingerprint() const { return fingerprint_; }
  // Whether the data can be read more than once.
  bool seekable() const { return seekable_; }
  // Mean number of entries in the first rows of a pipe, which are known before it is read; 0 without one.
  double entries_in_head() const { return entries_in_head_; }
  // Of rows in memory, which is known before they are read; else 0.
  std::uint64_t rows_in_memory() const;
  std::vector<std::string> paths() const;  // Of the files that have rows.
  const std::vector<std::string>& empty_paths() const { return empty_paths_; }
  const Columns& columns() const { return columns_; }  // Empty but for CSV; of the first of paths().
  // Those of paths() whose columns have that one's names in another order; rows come out as if in that one's.
  const std::vector<std::string>& reordered_paths() const { return reordered_paths_; }
  // As ReadOptions has them, told or chosen.
  const std::string& value_scales() const { return options_.value_scales; }
  // What the first features of value_scales() are called, where it was chosen here.
  const std::vector<std::string>& scaled_names() const { return scaled_names_; }
  // Of ReadOptions::look_at_labels: of rows from all over the data, of packed files from the first one's
  // begin. Without rows where nothing could be looked at.
  const LabelSpread& label_spread() const { return label_spread_; }
  // Of ReadOptions::interactions, of which those rows have no entry; and whether any of them has a weight.
  const std::vector<std::string>& absent_parts() const { return absent_parts_; }
  bool saw_weights() const { return saw_weights_; }
  // Of JSON lines, if ReadOptions::guess_members: those that the rows that were looked at have.
  const Columns& members() const { return members_; }
  // Of those that ReadOptions::columns names itself, what none of those rows has a value of.
  const std::vector<std::string>& absent_members() const { return absent_members_; }
  // Whether RowReader can come to parts of the data in random order.
  bool has_random_access() const { return hub_ == nullptr; }
  // One line for people, such as "csv, 3 columns: user:cat, item:cat, label".
  std::string description() const;

  // A reader of one data shard. epoch: the pass it starts with; when a shard changes hands in a later pass,
  // naming it lets compressed data be unpacked in step with the other shards.
  Result<std::unique_ptr<RowReader>> reader(ShardId shard, std::uint32_t shards, std::uint32_t epoch = 0,
                                            Reads reads = Reads::kAll);

  // For who learns only after open() what rows may have; before the first reader.
  void set_bounds(const RowBounds& bounds) { options_.bounds = bounds; }

  // For readers that share their thread with other work; before the first of them. Where the writer of a pipe
  // lets them wait, they return kRetry instead.
  void give_way() {
    if (hub_) hub_->give_way();
  }

  // Of all rows, for who looks at them before they are learnt: its bad rows are counted apart.
  Result<std::unique_ptr<RowReader>> reader_ahead(Reads reads = Reads::kAll);
  // The same shard as text.
  Result<std::unique_ptr<BlockSource>> block_source(std::uint32_t shard, std::uint32_t shards,
                                                    std::uint32_t epoch, Reads reads = Reads::kAll);

  // Bad rows that were skipped, each counted in the first of its reader's passes only, and the messages of
  // the first few.
  std::uint64_t skipped_rows() const { return skipped_.load(); }
  std::vector<std::string> skipped_examples() const;

 private:
  friend class RowReader;
  DataSet() = default;
  Status open_files();
  Status open_memory();
  Result<std::string> look(InputFile& file);
  std::string lack_of_rows(const InputFile& file, bool header) const;
  Status look_closer(const std::vector<InputFile>& files);
  bool may_scale_values(const std::vector<InputFile>& files) const;
  std::unique_ptr<RowParser> parser_for_looking(ReadOptions options) const;
  Batch look_at_rows(std::string_view rows, ReadOptions options) const;
  ValueScales choose_scales(std::string_view lines, const Batch& batch) const;
  Status set_scales(std::string_view lines, ValueScales chosen);
  std::vector<std::string> names_of(const std::vector<Key>& keys, std::string_view lines) const;
  Status look_at_members(std::string_view lines, bool guesses);
  Batch look_at_memory() const;
  Status check_pixels(const InputFile& file);
  void take(const InputFile& file);
  double mean_entries(const std::string& lines) const;
  // Counts a skipped row; false: there are more than max_bad_rows.
  bool may_skip(const std::string& message);
  // path:line:column of a place in a block, "path, row 5" of rows in memory.
  std::string place(const TextBlock& block, const char* at) const;

  ReadOptions options_;
  const RowFormat* format_ = nullptr;  // Null: not known before the first file with rows.
  bool detect_ = true;
  Columns columns_, members_;
  std::shared_ptr<const MemoryRows> memory_;  // Null: rows are in files.
  std::vector<InputFile> files_;              // Empty if hub_ has them.
  std::vector<std::string> paths_, empty_paths_, reordered_paths_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t fingerprint_ = 0;
  std::uint64_t pixels_ = 0;  // Of the first image.
  bool seekable_ = true;
  double entries_in_head_ = 0;
  std::string first_rows_;  // Of a command's first output, where values may want scales.
  LabelSpread label_spread_;
  std::vector<std::string> absent_parts_, absent_members_, scaled_names_;
  bool saw_weights_ = false;
  std::shared_ptr<StreamHub> hub_;                              // Null: all files are plain.
  mutable std::mutex mutex_;                                    // Guards the rest.
  std::map<std::uint32_t, std::shared_ptr<PlainFiles>> plain_;  // By number of shards.
  std::vector<std::string> skipped_examples_;
  std::atomic<std::uint64_t> skipped_{0};
};

// What a pass over a shard found of a file.
struct FileRows {
  std::uint64_t rows = 0;
  std::uint64_t skipped = 0;  // Bad ones.
  bool operator==(const FileRows&) const = default;
};
using PassRows = std::vector<FileRows>;  // By file; files behind the last row may be missing.

// One shard's rows in a fixed order. One thread at a time.
class RowReader {
 public:
  ~RowReader();
  // Fills `out` (its content is forgotten, its memory reused) with exactly max_rows rows, fewer at the
  // shard's end; returns their number, 0 at the end. kRetry: other shards' readers in this process must be
  // read first, or see DataSet::give_way(); call again with the same max_rows. Any other error is final.
  Result<std::size_t> next(std::size_t max_rows, Batch& out);
  // To the shard's begin for another pass. An error if the data is a pipe. A pass that ends with other
  // numbers of rows than the one before is kData.
  Status rewind();
  // Says that nothing of this pass will be read, until rewind(), so that others need not wait for that.
  void pass_over() { source_->pass_over(); }
  // For the first pass of a reader whose shard was read before: what that pass found. Its bad rows are not
  // counted again.
  void expect(PassRows earlier);
  std::uint64_t rows_read() const { return rows_read_; }             // In this pass.
  std::uint64_t rows_skipped() const { return rows_skipped_; }       // Bad rows, in this pass.
  double fraction_done() const { return source_->fraction_done(); }  // Of the pass, roughly; 0 if not known.
  // path:line of the newest row. Precondition: next() has returned one.
  std::string place_of_last_row() const;
  const RowLines& lines() const { return lines_; }          // Of the batch that next() returned.
  bool at_end() const { return ended_; }                    // All of the shard's text has been read.
  const PassRows& pass_rows() const { return pass_rows_; }  // In this pass.
  // Of the shard's text as far as it was read in this pass: the same whoever reads it, if the text is. 0
  // unless ReadOptions::hash_text.
  std::uint64_t text_hash() const { return text_hash_; }
  std::string text_end() const;  // Where that text ends: "train.svm, byte 4096".
  // The same of the text of all shards, at the end and where it was unpacked on the way; else 0.
  std::uint64_t hash_of_all() const { return ended_ ? source_->hash_of_all() : 0; }

 private:
  friend class DataSet;
  RowReader(std::shared_ptr<DataSet> data, std::unique_ptr<BlockSource> source);
  Status fill(std::size_t max_rows);
  Result<bool> next_block();
  Status parse_block(std::size_t max_rows);
  Status skip_bad_row(const RowError& error);
  void answer_bad_row(std::string_view line);
  std::string_view last_line() const;
  Status check_pass() const;

  std::shared_ptr<DataSet> data_;
  std::unique_ptr<BlockSource> source_;
  std::unique_ptr<RowParser> parser_;
  TextBlock block_;
  Cursor cursor_;
  BatchWriter writer_;
  RowLines lines_;
  Batch unfinished_;  // Rows of a batch that kRetry interrupted.
  bool ended_ = false;
  Status failed_;
  std::uint64_t rows_read_ = 0, rows_skipped_ = 0;
  std::uint64_t text_hash_ = 0;
  std::uint32_t text_file_ = 0;  // Where the text ends that has been read.
  std::uint64_t text_bytes_ = 0;
  PassRows pass_rows_;
  std::optional<PassRows> earlier_;  // Of the last whole pass.
  std::uint64_t skips_counted_ = 0;  // Bad rows of this shard that the data set has counted.
  bool counts_apart_ = false;        // Its bad rows are its own, of which there may be as many.
};

}  // namespace thalweg
