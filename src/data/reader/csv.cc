// CSV: one row a line, cells by separator, quotes as in RFC 4180 (a line break inside quotes is refused). A
// numeric cell is an entry of its column's key; a categorical cell is an entry whose key is the hash of
// column and string.
#include <fmt/format.h>

#include "data/column/number_form.h"
#include "data/reader/cell_words.h"
#include "data/reader/row_format.h"
#include "data/reader/row_loop.h"
#include "data/scale/zeros_that_count.h"

namespace thalweg {
namespace {

constexpr const char* kHeaderExpected =
    "a row: this is the header again, as in files that were joined; name them one by one instead, or leave "
    "it out by --on-bad-row skip:1";

class CsvParser final : public LineParser<CsvParser> {
 public:
  CsvParser(const ReadOptions& options, const Columns& columns)
      : LineParser(options), zeros_(options), columns_(columns) {}

  bool with_fields() const override { return true; }

  const char* parse_row(const char* p, const char* end, BatchWriter& out, RowError& error) {
    label_ = 0.0f, weight_ = 1.0f;
    const char* const line = p;
    const std::size_t count = columns_.list.size();
    for (std::size_t c = 0; c < count; ++c) {
      const char* begin = p;
      std::string_view cell;
      if (!next_cell(p, columns_.separator, cell, scratch_)) {
        return fail(error, begin, "a closing quote on the same line, then a separator"), nullptr;
      }
      if (!take_cell(columns_.list[c], cell, begin, out, error)) {
        error.end = p;
        if (is_header(line, end)) fail(error, line, kHeaderExpected), error.end = nullptr;
        return nullptr;
      }
      const bool last = c + 1 == count;
      if ((*p == '\n') != last) {
        error.at = p;
        error.saw = last ? fmt::format("more than {}", count) : fmt::format("{}", c + 1);
        error.expected = fmt::format("{} columns", count);
        return nullptr;
      }
      ++p;
    }
    out.end_row(label_, weight_);
    return p;
  }

 private:
  bool is_header(const char* line, const char* end) const {
    const std::string& header = columns_.header_line;
    const auto left = static_cast<std::size_t>(end - line);
    return columns_.header && left >= header.size() && std::string_view(line, header.size()) == header;
  }

  bool take_cell(const Column& column, std::string_view cell, const char* at, BatchWriter& out,
                 RowError& error) {
    switch (column.kind) {
      case Column::Kind::kIgnored:
        return true;
      case Column::Kind::kLabel:
        return take_label(cell, at, error);
      case Column::Kind::kWeight:
        if (number(cell, weight_) && weight_ >= 0) return true;
        return fail(error, at, "a weight of at least 0");
      case Column::Kind::kNumeric:
        return take_number(column, cell, at, out, error);
      case Column::Kind::kCategorical:
        return add_category(column, category_key(cell, column.salt), at, out, error);
    }
    return false;
  }

  bool take_number(const Column& column, std::string_view cell, const char* at, BatchWriter& out,
                   RowError& error) {
    const bool is_bucket = column.number.shape == NumberForm::Shape::kBucket;
    double cell_value = 0;
    if (!number(cell, cell_value)) {
      if (!trimmed(cell).empty() && !says_missing(trimmed(cell))) {
        error.at = at;
        error.expected =
            fmt::format("a finite number (column \"{}\"; --columns can make it cat)", column.name);
        return false;
      }
      return !is_bucket || add_category(column, category_key({}, column.salt), at, out, error);
    }
    if (is_bucket)
      return add_category(column, bucket_key(static_cast<float>(cell_value), column.salt), at, out, error);
    const float value = in_form(cell_value, column.number);
    if (value == 0.0f && !zeros_.contain(rules_.key(column.salt))) return true;
    return out.add_value(rules_.key(column.salt), value, column.field) || full(at, error);
  }

  bool add_category(const Column& column, Key key, const char* at, BatchWriter& out, RowError& error) {
    return out.add(rules_.key(key), column.field) || full(at, error);
  }

  bool take_label(std::string_view cell, const char* at, RowError& error) {
    if (!number(cell, label_)) {
      const std::optional<float> truth = truth_of(trimmed(cell));
      if (!truth) return fail(error, at, "a label (a finite number, or true, false, yes or no)");
      label_ = *truth;
    }
    return check_label(rules_, at, label_, error);
  }

  static bool full(const char* at, RowError& error) {
    return fail(error, at, "at most 2^28 entries in a batch");
  }

  // A cell is always followed by a quote, a separator or a line's end, so looking at its first byte is safe.
  template <class Number>
  static bool number(std::string_view cell, Number& value) {
    cell = trimmed(cell);
    if (cell.empty()) return false;
    return parse_real(cell.data(), cell.data() + cell.size(), value) == cell.data() + cell.size();
  }

  const ZerosThatCount zeros_;
  Columns columns_;
  std::string scratch_;
  float label_ = 0.0f, weight_ = 1.0f;
};

Likeness like_csv(const LineLook& look) {
  return look.line.find_first_of(",;\t") == std::string_view::npos ? Likeness::kNone : Likeness::kSure;
}

std::unique_ptr<RowParser> make_csv_parser(const ReadOptions& options, const Columns& columns) {
  return std::make_unique<CsvParser>(options, columns);
}

}  // namespace

extern constinit const RowFormat kCsvFormat = {
    .name = "csv",
    .title = "CSV",
    .ending = "csv",
    .ids = "columns",
    .columns = true,
    .likeness = like_csv,
    .parser = make_csv_parser,
    .names = name_cells,
    .field_named = field_of_column,
    .fields = fields_of_columns,
};

}  // namespace thalweg
