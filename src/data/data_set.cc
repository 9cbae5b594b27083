#include "data/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/hint.h"
#include "base/mix.h"
#include "data/column/column_guess.h"
#include "data/column/member_kinds.h"
#include "data/column/row_sample.h"
#include "data/idx.h"
#include "data/memory/memory_blocks.h"
#include "data/memory/memory_rows.h"
#include "data/pair/interactions.h"
#include "data/pair/pairing_parser.h"
#include "data/reader/detect.h"
#include "data/reader/json_members.h"
#include "data/reader/row_loop.h"
#include "data/text_windows.h"
#include "data/unpack/shell_word.h"

namespace thalweg {
namespace {

constexpr std::size_t kSkippedExamples = 10;
constexpr std::size_t kScaledNamed = 8;  // Of features whose values are scaled.

SourceCommand source_command(const ReadOptions& options) {
  return {options.from_command, options.command_timeout};
}

Status check_options(const ReadOptions& options) {
  if (options.hash_bits > 63) {
    return {Code::kUsage, fmt::format("hash bits: saw {}, expected 0 (off) to 63", options.hash_bits)};
  }
  if (options.part != Part::kAll && options.part_modulus < 2) {
    return {Code::kUsage, fmt::format("held-out part: saw {}, expected every N-th row with N at least 2",
                                      options.part_modulus)};
  }
  const std::string& command = options.from_command;
  if (!command.empty() && command.find("%s") == command.npos) {
    return {Code::kUsage,
            "--from-command: saw \"" + command + "\", expected %s in it, where a file's name goes"};
  }
  for (std::size_t at = 0; (at = command.find("%s", at)) != command.npos; ++at) {
    if (!is_in_quotes(command, at)) continue;
    return with_hint({Code::kUsage,
                      "--from-command: saw %s within quotes, expected it outside of them: the "
                      "name comes quoted for the shell"},
                     "sh -c 'SCRIPT' - %s hands it to a script as $1");
  }
  return {};
}

std::uint64_t add_to_hash(std::uint64_t hash, std::string_view text) {
  for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(text.size(), 8))) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), std::min<std::size_t>(text.size(), 8));
    hash = place(hash ^ word);
  }
  return place(hash ^ 1);  // So that where a file ends counts.
}

// Why a file that was taken for CSV, since columns are asked for, has not these: it is of another format.
Status without_columns(const InputFile& file, const ReadOptions& options, Status status) {
  constexpr std::size_t kListShown = 80;
  std::string first = file.head_lines();
  first.resize(std::min(first.find('\n'), first.size()));
  const auto found = detect_format(first, file.path, options.labels_needed, options.formats);
  const bool may_have_cells = first.find_first_of(",;\t") != first.npos;
  const bool is_csv = !found || (*found)->columns || (may_have_cells && !(*found)->members);
  if (is_csv || options.format != "auto") return status;
  const bool of_model = !options.known_columns.empty();
  std::string columns = of_model ? options.known_columns : options.columns;
  if (columns.size() > kListShown) columns = columns.substr(0, columns.rfind(',', kListShown)) + ",...";
  return {Code::kData,
          fmt::format("{}: looks like {}, expected CSV with the columns that {}: {}", file.path,
                      (*found)->name, of_model ? "the model was trained with" : "--columns names", columns)};
}

// Columns are looked for in CSV, but may be members of JSON lines too.
const RowFormat* format_with_members(const InputFile& file, const ReadOptions& options) {
  const bool has_columns = !options.columns.empty() || !options.known_columns.empty();
  if (!has_columns || options.format != "auto") return nullptr;
  const auto found = detect_format(file.head_lines(), file.path, options.labels_needed, options.formats);
  return found && (*found)->members ? *found : nullptr;
}

}  // namespace

Result<std::shared_ptr<DataSet>> DataSet::open(ReadOptions options) {
  if (const Status status = check_options(options); !status.ok()) return status;
  std::shared_ptr<DataSet> data(new DataSet);
  if (const auto scales = ValueScales::parse(options.value_scales); !scales) return scales.status();
  data->options_ = std::move(options);
  auto memory = find_memory_rows(data->options_);
  if (!memory) return memory.status();
  data->memory_ = std::move(*memory);
  if (Status status = data->memory_ ? data->open_memory() : data->open_files(); !status.ok()) return status;
  data->options_.learnt = nullptr;  // Whom it asks may be gone later.
  return data;
}

Status DataSet::open_files() {
  const bool has_columns = !options_.columns.empty() || !options_.known_columns.empty();
  const bool means_csv = has_columns && options_.format == "auto";
  const auto named = find_format(means_csv ? "csv" : options_.format, options_.formats);
  if (!named) return named.status();
  format_ = *named;
  detect_ = format_ == nullptr;
  Result<InputFiles> files =
      open_input_files(options_.paths, options_.text, source_command(options_), options_.as_it_comes,
                       [this](InputFile& file) { return look(file); });
  if (!files) return files.status();
  empty_paths_ = std::move(files->empty);
  if (!seekable_) total_bytes_ = 0;
  std::vector<InputFile>& full = files->full;
  if (Status status = look_closer(full); !status.ok()) return status;
  if (Status status = check_interactions(options_, *format_, columns_, paths_.front()); !status.ok())
    return status;
  if (std::all_of(full.begin(), full.end(), [](const InputFile& file) { return file.plain(); })) {
    files_ = std::move(full);
  } else {
    const ChunkCutter::Rules rules{columns_.header, format_->comments, options_.part != Part::kAll,
                                   options_.hash_text, options_.as_it_comes};
    hub_ = std::make_shared<StreamHub>(std::move(full), rules);
  }
  return {};
}

Status DataSet::open_memory() {
  constexpr std::uint64_t kBytesPerRow = 100;  // Of one with a dozen entries.
  paths_ = options_.paths;
  if (memory_->rows() == 0) return {Code::kData, paths_.front() + ": has no row, expected rows"};
  format_ = &format_of(*memory_);
  Result<Columns> columns = memory_->columns(paths_.front(), options_);
  if (!columns) return columns.status();
  columns_ = std::move(*columns);
  if (Status status = look_closer({}); !status.ok()) return status;
  if (Status status = check_interactions(options_, *format_, columns_, paths_.front()); !status.ok())
    return status;
  total_bytes_ = memory_->rows() * kBytesPerRow;
  fingerprint_ = thalweg::place(memory_->rows());
  return {};
}

std::uint64_t DataSet::rows_in_memory() const { return memory_ ? memory_->rows() : 0; }

// Finds format and columns, from the first file with rows, and sees that the others have the same.
Result<std::string> DataSet::look(InputFile& file) {
  if (detect_) {
    const Result<const RowFormat*> found =
        detect_format(file.head_lines(), file.path, options_.labels_needed, options_.formats);
    if (!found) return found.status();
    if (paths_.empty()) format_ = *found;
    if (*found != format_) {
      return Status(Code::kData, fmt::format("{}: looks like {}, expected {} as in {} (mixed formats)",
                                             file.path, (*found)->name, format_->name, paths_.front()));
    }
  }
  if (const RowFormat* members = paths_.empty() ? format_with_members(file, options_) : nullptr)
    format_ = members;
  if (format_->members) {
    if (const auto kinds = MemberKinds::of(options_); !kinds) return kinds.status();
  }
  Result<Columns> columns = Columns{};
  if (format_->columns) columns = find_columns(file.head_lines(), file.path, options_);
  if (!columns) return without_columns(file, options_, columns.status());
  if (std::string lack = lack_of_rows(file, columns->header); !lack.empty()) return lack;
  if (columns_.list.empty()) {
    columns_ = std::move(*columns);
  } else if (file.order = cell_order(columns_, *columns); !file.order.places.empty()) {
    reordered_paths_.push_back(file.path);
  } else if (const Status status = check_same_columns(columns_, paths_.front(), *columns, file.path);
             !status.ok()) {
    return status;
  }
  if (const Status status = check_pixels(file); !status.ok()) return status;
  take(file);
  return std::string();
}

// Images of one size are of one set, and of a model's size those that it can take.
Status DataSet::check_pixels(const InputFile& file) {
  if (file.packing != Packing::kIdx) return ok_status();
  const std::uint64_t pixels = pixels_of_row(file.head);
  const std::uint64_t wanted = pixels_ != 0 ? pixels_ : options_.hash_bits != 0 ? 0 : options_.bounds.pixels;
  if (wanted != 0 && pixels != wanted) {
    return {Code::kData, fmt::format("{}: has images of {} pixels, expected {}, as {}", file.path, pixels,
                                     wanted, pixels_ != 0 ? "in " + paths_.front() : "the model has inputs")};
  }
  pixels_ = pixels;
  return ok_status();
}

// Looks at rows of all over the data where what columns are is not told, values may want scales, or how
// labels spread is asked.
Status DataSet::look_closer(const std::vector<InputFile>& files) {
  const auto is_open = [&](const Column& c) {
    return !c.kind_told || (options_.choose_scales && !c.number_told);
  };
  const std::vector<Column>& list = columns_.list;
  const bool members = format_->members && options_.guess_members && options_.known_columns.empty();
  const bool guesses = members || (format_->columns && std::any_of(list.begin(), list.end(), is_open));
  const bool scales = may_scale_values(files);
  // Commands are not run for these alone: the begin of a first one's output is there already.
  const bool head = !options_.from_command.empty() && !guesses;
  const bool looks = options_.look_at_labels && !head;
  if (!guesses && !scales && !looks) return {};
  std::string rows;
  if (head) rows = first_rows_ + std::string(kTextPad, '\0');
  if (!head && (guesses || !memory_)) {
    Result<std::string> sample =
        memory_ ? memory_->sample(kSampleRows) : sample_rows(files, columns_.header, options_);
    if (!sample) return sample.status();
    rows = *std::move(sample);
  }
  const std::string_view lines =
      std::string_view(rows).substr(0, rows.size() - std::min(rows.size(), kTextPad));
  if (const Status status = format_->members ? look_at_members(lines, members) : ok_status(); !status.ok())
    return status;
  if (format_->columns && guesses) guess_columns(lines, options_.choose_scales, columns_);
  if (!looks && !scales) return {};
  const Batch batch = memory_ ? look_at_memory() : look_at_rows(lines, options_);
  if (looks) {
    label_spread_ = thalweg::label_spread(batch.labels);
    if (!format_->columns)
      absent_parts_ = thalweg::absent_parts(options_.interactions, *format_, columns_, batch.fields);
    saw_weights_ = !batch.weights.empty();
  }
  return scales ? set_scales(lines, choose_scales(lines, batch)) : ok_status();
}

// Beside those that a model knows, which goes on, for features that it has not learnt.
Status DataSet::set_scales(std::string_view lines, ValueScales chosen) {
  if (options_.learnt) {
    const RowRules rules(options_);
    std::unordered_set<Key> keys, known;
    const auto in_model = [&](Key key) { return options_.interactions.empty() ? key : rules.key(key); };
    for (const auto& [key, form] : chosen.all()) keys.insert(in_model(key));
    const auto learnt = options_.learnt(keys);
    if (!learnt) return learnt.status();
    for (const auto& [key, form] : chosen.all()) {
      if (learnt->contains(in_model(key))) known.insert(key);
    }
    chosen = ValueScales::parse(options_.value_scales)->with(chosen, known);
  }
  std::vector<Key> named;
  for (const auto& [key, form] : chosen.all()) {
    if (named.size() < kScaledNamed) named.push_back(key);
  }
  scaled_names_ = names_of(named, lines);
  options_.value_scales = chosen.text();
  return ok_status();
}

// By the rows that have them, else as numbers.
std::vector<std::string> DataSet::names_of(const std::vector<Key>& keys, std::string_view lines) const {
  std::vector<std::string> found(keys.size()), names;
  const std::unique_ptr<RowParser> parser = parser_for_looking(options_);
  std::size_t left = format_->names == nullptr ? 0 : keys.size();
  const char* const end = lines.data() + lines.size();
  for (const char *p = lines.data(), *next = p; p != end && left > 0; p = next) {
    next = line_end(p, end) + 1;
    Batch row;
    BatchWriter writer;
    RowError error;
    writer.attach(row, parser->with_fields(), false);
    Cursor cursor{p, next, 0};
    const bool good = parser->parse(cursor, 1, writer, error);
    writer.detach();
    names.clear();
    const auto size = static_cast<std::size_t>(next - p);
    if (good && row.rows() == 1) format_->names({{p, size}, options_, columns_, row.fields}, names);
    for (std::size_t e = 0; names.size() == row.keys.size() && e < names.size(); ++e) {
      const auto at =
          static_cast<std::size_t>(std::find(keys.begin(), keys.end(), row.keys[e]) - keys.begin());
      if (at < keys.size() && found[at].empty()) found[at] = names[e], --left;
    }
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (found[i].empty()) found[i] = fmt::format("{}", keys[i]);
  }
  return found;
}

// Of rows without columns; `batch`: all of these lines.
ValueScales DataSet::choose_scales(std::string_view lines, const Batch& batch) const {
  const auto kinds = MemberKinds::of(options_);
  if (!format_->members || options_.columns.empty() || !kinds) return ValueScales::choose(batch);
  ReadOptions options = options_;
  settle_members(options);
  options.columns = kinds->text(true);
  return ValueScales::choose(look_at_rows(lines, std::move(options)));
}

// What members are that nobody has said, and those that are told but in none of these lines.
Status DataSet::look_at_members(std::string_view lines, bool guesses) {
  const auto kinds = MemberKinds::of(options_);
  if (!kinds) return ok_status();
  if (!options_.columns.empty()) absent_members_ = members_without_values(lines, kinds->names());
  if (!guesses) return ok_status();
  members_ = guess_members(lines, options_, *kinds);
  if (options_.learnt) {
    auto unknown = new_members(lines, options_, std::move(members_));
    if (!unknown) return unknown.status();
    members_ = *std::move(unknown);
  }
  const std::string guessed = guessed_items(members_);
  if (!guessed.empty()) options_.columns += (options_.columns.empty() ? "" : ",") + guessed;
  return ok_status();
}

// Images and text are of one size.
bool DataSet::may_scale_values(const std::vector<InputFile>& files) const {
  const auto computed = [](const InputFile& file) { return is_computed(file.packing); };
  const bool open = options_.value_scales.empty() || options_.learnt;
  return options_.choose_value_scales && open && options_.known_columns.empty() && !format_->columns &&
         std::none_of(files.begin(), files.end(), computed);
}

// The entries of rows that were looked at, before pairs are made of them.
std::unique_ptr<RowParser> DataSet::parser_for_looking(ReadOptions options) const {
  options.part = Part::kAll;
  if (!options.interactions.empty()) options.hash_bits = 0;
  return format_->parser(options, columns_);
}

// `rows`: whole lines, as sample_rows() has them.
Batch DataSet::look_at_rows(std::string_view rows, ReadOptions options) const {
  constexpr std::size_t kBytesPerEntry = 8;
  const std::unique_ptr<RowParser> parser = parser_for_looking(std::move(options));
  Cursor cursor{rows.data(), rows.data() + rows.size(), 0};
  Batch batch;
  batch.keys.resize(rows.size() / kBytesPerEntry);  // Rather than to grow from little.
  BatchWriter writer;
  writer.attach(batch, parser->with_fields(), false);
  for (RowError error; !parser->parse(cursor, rows.size(), writer, error);)
    cursor.p = line_end(cursor.p, cursor.end) + 1;
  writer.detach();
  return batch;
}

// Some rows from here and there.
Batch DataSet::look_at_memory() const {
  constexpr std::uint64_t kPiecesLooked = 64, kRowsLooked = 64;
  const std::uint64_t rows = memory_->rows(),
                      pieces = rows <= kPiecesLooked * kRowsLooked ? 1 : kPiecesLooked;
  const std::uint64_t count = pieces == 1 ? rows : kRowsLooked;
  const std::unique_ptr<RowParser> parser = parser_for_looking(options_);
  const std::string lines(static_cast<std::size_t>(count) + kTextPad, '\n');
  Batch batch;
  BatchWriter writer;
  writer.attach(batch, parser->with_fields(), false);
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    Cursor cursor{lines.data(), lines.data() + count, piece * (rows / pieces)};
    for (RowError error; !parser->parse(cursor, ~std::size_t{0}, writer, error);) ++cursor.p;
  }
  writer.detach();
  return batch;
}

void DataSet::take(const InputFile& file) {
  paths_.push_back(file.path);
  total_bytes_ += file.size_bytes;
  fingerprint_ =
      add_to_hash(fingerprint_ ^ file.size_bytes, std::string_view(file.head).substr(0, kHeadBytes));
  seekable_ = seekable_ && file.seekable;
  if (!options_.from_command.empty() && options_.choose_value_scales && first_rows_.empty())
    first_rows_ = file.head_lines();
  if (!file.seekable && entries_in_head_ == 0) entries_in_head_ = mean_entries(file.head_lines());
}

double DataSet::mean_entries(const std::string& lines) const {
  const std::string text = lines + std::string(kTextPad, '\0');
  const char* const end = text.data() + lines.size();
  const std::size_t rows = rows_of_begin(lines, columns_.header).size();
  Cursor cursor{end - rows, end, 0};
  const bool pairs = check_interactions(options_, *format_, columns_, {}).ok();
  const std::unique_ptr<RowParser> parser =
      pairs ? row_parser(options_, *format_, columns_) : format_->parser(options_, columns_);
  Batch batch;
  BatchWriter writer;
  writer.attach(batch, parser->with_fields(), false);
  for (RowError error; !parser->parse(cursor, lines.size(), writer, error);) {
    cursor.p = line_end(cursor.p, cursor.end) + 1;
  }
  writer.detach();
  return batch.rows() == 0 ? 0 : static_cast<double>(batch.entries()) / static_cast<double>(batch.rows());
}

// What a file that was seen whole has instead of rows; nothing if it has one.
std::string DataSet::lack_of_rows(const InputFile& file, bool header) const {
  if (!file.head_is_all) return {};
  const std::string lines = file.head_lines();
  const char* begin = lines.data();
  if (count_rows(begin, begin + lines.size(), format_->comments) > (header ? 1 : 0)) return {};
  return header ? "has a header and no rows" : "has no row, only blank lines and comments";
}

std::vector<std::string> DataSet::paths() const { return paths_; }

std::string DataSet::description() const {
  constexpr std::size_t kColumnsShown = 40;
  std::string text(format_->name);
  if (!format_->columns) return text;
  const std::vector<Column>& list = columns_.list;
  text += fmt::format(", {} columns:", list.size());
  for (std::size_t c = 0; c < std::min(list.size(), kColumnsShown); ++c)
    text += fmt::format("{} {}:{}", c == 0 ? "" : ",", list[c].name, column_kind_text(list[c]));
  if (list.size() > kColumnsShown) text += fmt::format(" and {} more", list.size() - kColumnsShown);
  return text;
}

Result<std::unique_ptr<BlockSource>> DataSet::block_source(std::uint32_t shard, std::uint32_t shards,
                                                           std::uint32_t epoch, Reads reads) {
  if (memory_)
    return std::unique_ptr<BlockSource>(
        std::make_unique<MemoryBlocks>(memory_->rows(), shard, shards, options_.shuffle, epoch));
  if (hub_)
    return std::unique_ptr<BlockSource>(std::make_unique<StreamBlocks>(hub_, shard, shards, epoch, reads));
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<PlainFiles>& plain = plain_[shards];
  if (!plain) {
    const PlainFiles::Rules rules{columns_.header, format_->comments, options_.part != Part::kAll,
                                  options_.hash_text};
    Result<std::shared_ptr<PlainFiles>> opened = PlainFiles::open(files_, shards, rules);
    if (!opened) return opened.status();
    plain = std::move(*opened);
  }
  return std::unique_ptr<BlockSource>(
      std::make_unique<PlainBlocks>(plain, shard, shards, options_.shuffle, epoch));
}

Result<std::unique_ptr<RowReader>> DataSet::reader(ShardId shard, std::uint32_t shards, std::uint32_t epoch,
                                                   Reads reads) {
  if (shard.value >= shards) {
    return Status(Code::kUsage, fmt::format("data shard {}: expected one below {}", shard.value, shards));
  }
  Result<std::unique_ptr<BlockSource>> source = block_source(shard.value, shards, epoch, reads);
  if (!source) return source.status();
  return std::unique_ptr<RowReader>(new RowReader(shared_from_this(), std::move(*source)));
}

Result<std::unique_ptr<RowReader>> DataSet::reader_ahead(Reads reads) {
  auto all = reader(ShardId{0}, 1, 0, reads);
  if (all) (*all)->counts_apart_ = true;
  return all;
}

bool DataSet::may_skip(const std::string& message) {
  const std::uint64_t count = ++skipped_;
  if (count <= kSkippedExamples) {
    const std::lock_guard<std::mutex> lock(mutex_);
    skipped_examples_.push_back(message);
  }
  return count <= options_.max_bad_rows;
}

std::vector<std::string> DataSet::skipped_examples() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return skipped_examples_;
}

// Lines are counted only now; a plain file is read again for it.
std::string DataSet::place(const TextBlock& block, const char* at) const {
  const char* begin = at;
  while (begin > block.begin && begin[-1] != '\n') --begin;
  std::uint64_t line = block.first_line;
  if (line == kUnknown) {
    line = 0;
    const auto stream = open_rows(paths_[block.file], options_.text);
    std::vector<char> buffer(kBlockBytes);
    for (std::uint64_t left = block.offset; stream && left > 0;) {
      const Result<std::size_t> count =
          (*stream)->read(buffer.data(), std::min<std::uint64_t>(left, buffer.size()));
      if (!count || *count == 0) break;
      line += static_cast<std::uint64_t>(
          std::count(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*count), '\n'));
      left -= *count;
    }
  }
  line += static_cast<std::uint64_t>(std::count(block.begin, begin, '\n'));
  if (memory_) return fmt::format("{}, row {}", paths_[block.file], line);
  return fmt::format("{}:{}:{}", paths_[block.file], line + 1, at - begin + 1);
}

}  // namespace thalweg
