#include "data/memory/table_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "data/column/header.h"
#include "data/column/number_form.h"
#include "data/reader/cell_words.h"
#include "data/reader/entry_errors.h"
#include "data/reader/number.h"
#include "data/scale/zeros_that_count.h"

namespace thalweg {
namespace {

// By chunk and column: the key of each entry of its dictionary, and behind them that of a missing cell.
using DictionaryKeys = std::vector<std::vector<std::vector<Key>>>;

std::vector<Key> keys_of_dictionary(const CellColumn& cells, Key salt) {
  std::vector<Key> keys;
  std::string scratch;
  for (std::size_t i = 0; i < cells.dictionary_size; ++i) {
    keys.push_back(category_key(cell_text(cells.dictionary->at(i), scratch), salt));
  }
  keys.push_back(category_key({}, salt));
  return keys;
}

class TableParser final : public MemoryParser {
 public:
  TableParser(const ReadOptions& options, const Columns& columns, const Table& table,
              const DictionaryKeys& keys, const std::vector<std::uint64_t>& chunk_ends)
      : MemoryParser(options),
        zeros_(options),
        columns_(columns),
        table_(table),
        keys_(keys),
        chunk_ends_(chunk_ends) {}

  bool with_fields() const override { return true; }

 private:
  bool take_row(std::uint64_t row, BatchWriter& out, RowError& error) override {
    if (row < chunk_begin_ || row >= chunk_ends_[chunk_]) find_chunk(row);
    float label = 0.0f, weight = 1.0f;
    for (std::size_t c = 0; c < columns_.list.size(); ++c) {
      const Column& column = columns_.list[c];
      if (column.kind == Column::Kind::kIgnored) continue;
      if (!take_cell(column, c, static_cast<std::size_t>(row - chunk_begin_), out, label, weight, error))
        return false;
    }
    out.end_row(label, weight);
    return true;
  }

  void find_chunk(std::uint64_t row) {
    const auto end = std::upper_bound(chunk_ends_.begin(), chunk_ends_.end(), row);
    chunk_ = static_cast<std::size_t>(end - chunk_ends_.begin());
    chunk_begin_ = chunk_ == 0 ? 0 : chunk_ends_[chunk_ - 1];
  }

  bool take_cell(const Column& column, std::size_t c, std::size_t at, BatchWriter& out, float& label,
                 float& weight, RowError& error) {
    const CellColumn& cells = table_.chunks[chunk_].columns[c];
    switch (column.kind) {
      case Column::Kind::kIgnored:
        return true;
      case Column::Kind::kLabel:
        return take_label(cells.at(at), label, error);
      case Column::Kind::kWeight:
        return (number(cells.at(at), weight) && weight >= 0) ||
               refuse(cells.at(at), "a weight of at least 0", error);
      case Column::Kind::kNumeric: {
        const Cell cell = cells.at(at);
        double number_there = 0;
        const bool is_bucket = column.number.shape == NumberForm::Shape::kBucket;
        if (is_missing(cell)) {
          return !is_bucket || out.add(rules_.key(category_key({}, column.salt)), column.field) ||
                 full(error);
        }
        if (!number(cell, number_there)) {
          return refuse(cell,
                        fmt::format("a finite number (column \"{}\"; columns can make it cat)", column.name),
                        error);
        }
        if (is_bucket)
          return out.add(rules_.key(bucket_key(static_cast<float>(number_there), column.salt)),
                         column.field) ||
                 full(error);
        if (cell.single && column.number.offset != 0)
          number_there = as_written(static_cast<float>(number_there));
        const float value = in_form(number_there, column.number);
        if (value == 0.0f && !zeros_.contain(rules_.key(column.salt))) return true;
        return out.add_value(rules_.key(column.salt), value, column.field) || full(error);
      }
      case Column::Kind::kCategorical: {
        const Key key = cells.type == CellType::kCodes
                            ? keys_[chunk_][c][cells.code(at)]
                            : category_key(cell_text(cells.at(at), scratch_), column.salt);
        return out.add(rules_.key(key), column.field) || full(error);
      }
    }
    return false;
  }

  bool take_label(const Cell& cell, float& label, RowError& error) {
    if (!number(cell, label)) {
      const std::optional<float> truth = truth_of(trimmed(cell_text(cell, scratch_)));
      if (!truth) return refuse(cell, "a label (a finite number, or true, false, yes or no)", error);
      label = *truth;
    }
    return check_label(label, error);
  }

  static bool is_missing(const Cell& cell) {
    const std::string_view text = trimmed(cell.text);
    return cell.kind == Cell::Kind::kMissing ||
           (cell.kind == Cell::Kind::kText && (text.empty() || says_missing(text)));
  }

  bool refuse(const Cell& cell, std::string expected, RowError& error) {
    return fail_saw(error, std::string(cell_text(cell, scratch_)), std::move(expected));
  }
  static bool full(RowError& error) { return fail_saw(error, "more", kFullExpected); }

  // As float or double; what is infinite as a float is none.
  template <class Number>
  bool number(const Cell& cell, Number& value) {
    switch (cell.kind) {
      case Cell::Kind::kMissing:
        return false;
      case Cell::Kind::kText: {
        const std::string_view text = trimmed(cell.text);
        padded_.assign(text).append(1, '\n').append(kTextPad, '\0');
        return !text.empty() && parse_real(padded_.data(), padded_.data() + text.size(), value) ==
                                    padded_.data() + text.size();
      }
      case Cell::Kind::kBool:
      case Cell::Kind::kWhole:
        value = static_cast<Number>(cell.whole);
        return true;
      case Cell::Kind::kUnsigned:
        value = static_cast<Number>(cell.positive);
        return true;
      case Cell::Kind::kReal:
        value = static_cast<Number>(cell.real);
        return std::isfinite(static_cast<float>(cell.real));
    }
    return false;
  }

  const ZerosThatCount zeros_;
  const Columns columns_;
  const Table& table_;
  const DictionaryKeys& keys_;
  const std::vector<std::uint64_t>& chunk_ends_;
  std::size_t chunk_ = 0;
  std::uint64_t chunk_begin_ = 0;
  std::string scratch_, padded_;
};

class TableInMemory final : public MemoryRows {
 public:
  explicit TableInMemory(Table table) : table_(std::move(table)) {
    std::erase_if(table_.chunks, [](const TableChunk& chunk) { return chunk.rows == 0; });
    for (const TableChunk& chunk : table_.chunks) {
      chunk_ends_.push_back(rows() + chunk.rows);
      auto& keys = keys_.emplace_back(chunk.columns.size());
      for (std::size_t c = 0; c < keys.size(); ++c) {
        if (chunk.columns[c].type != CellType::kCodes) continue;
        keys[c] = keys_of_dictionary(chunk.columns[c], column_salt(table_.names[c]));
      }
    }
  }

  std::uint64_t rows() const override { return chunk_ends_.empty() ? 0 : chunk_ends_.back(); }
  bool has_columns() const override { return true; }

  Result<Columns> columns(const std::string& path, const ReadOptions& options) const override {
    Columns found;
    found.header = true;
    for (std::size_t c = 0; c < table_.names.size(); ++c) {
      const bool numeric =
          std::all_of(table_.chunks.begin(), table_.chunks.end(), [c](const TableChunk& chunk) {
            return chunk.columns[c].is_numeric() || chunk.columns[c].type == CellType::kNull;
          });
      found.list.push_back(
          {.name = table_.names[c], .kind = numeric ? Column::Kind::kNumeric : Column::Kind::kCategorical});
    }
    auto settled = settle_columns(std::move(found), path, options);
    for (const auto& [c, what] : table_.unreadable) {
      if (!settled || settled->list[c].kind == Column::Kind::kIgnored) continue;
      return Status(Code::kUsage, fmt::format("column \"{}\": {}; or leave it out, as --columns {}:- does",
                                              table_.names[c], what, table_.names[c]));
    }
    return settled;
  }

  std::string sample(std::uint64_t rows_max) const override {
    const std::uint64_t stride = std::max<std::uint64_t>(1, (rows() + rows_max - 1) / rows_max);
    std::string text;
    std::uint64_t begin = 0, next = 0;
    for (const TableChunk& chunk : table_.chunks) {
      for (; next < begin + chunk.rows; next += stride) add_line(chunk, next - begin, text);
      begin += chunk.rows;
    }
    return text.append(kTextPad, '\0');
  }

  std::unique_ptr<RowParser> parser(const ReadOptions& options, const Columns& columns) const override {
    return std::make_unique<TableParser>(options, columns, table_, keys_, chunk_ends_);
  }

 private:
  // A line of CSV.
  static void add_line(const TableChunk& chunk, std::uint64_t row, std::string& text) {
    std::string scratch;
    for (const CellColumn& column : chunk.columns) {
      text += '"';
      for (const char c : cell_text(column.at(static_cast<std::size_t>(row)), scratch)) {
        if (c == '"') text += '"';
        text += c == '\n' ? ' ' : c;
      }
      text += "\",";
    }
    text.back() = '\n';
  }

  Table table_;
  std::vector<std::uint64_t> chunk_ends_;
  DictionaryKeys keys_;
};

}  // namespace

Result<std::shared_ptr<const MemoryRows>> table_rows(Table table) {
  std::vector<std::string> names = table.names;
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    return Status(Code::kUsage,
                  fmt::format("two columns are named \"{}\", expected names of their own", *twice));
  }
  table.names = column_names(std::move(table.names));
  return std::shared_ptr<const MemoryRows>(std::make_shared<TableInMemory>(std::move(table)));
}

}  // namespace thalweg
