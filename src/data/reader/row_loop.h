// The loop over lines that all formats share: blank lines, comments, held-out rows, labels.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/mix.h"
#include "data/read_options.h"
#include "data/reader/entry_errors.h"
#include "data/reader/number.h"
#include "data/reader/row_parser.h"

namespace thalweg {

// The first byte after p that is neither blank nor tab nor carriage return.
inline const char* skip_blanks(const char* p) {
  while (*p == ' ' || *p == '\t' || *p == '\r') ++p;
  return p;
}

// Whether the line at p holds a row: it is not blank and, where '#' starts a comment, no comment.
inline bool is_row(const char* p, bool comments) {
  if (*p > ' ' && *p != '#') return true;
  const char* first = skip_blanks(p);
  return *first != '\n' && !(comments && *first == '#');
}

inline bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\n") == line.npos; }

// Of the text that a file begins with: UTF-8's mark is no part of its first line.
inline std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

inline const char* line_end(const char* p, const char* end) {
  return static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
}

// Number of rows among the whole lines in [p, end).
inline std::uint64_t count_rows(const char* p, const char* end, bool comments) {
  std::uint64_t rows = 0;
  for (; p < end; p = line_end(p, end) + 1) rows += is_row(p, comments) ? 1 : 0;
  return rows;
}

// Which rows are read and what becomes of labels and keys.
struct RowRules {
  explicit RowRules(const ReadOptions& options)
      : part(options.part),
        modulus(options.part_modulus == 0 ? 1 : options.part_modulus),
        binary_labels(options.binary_labels && options.labels_needed),
        classes(options.labels_needed ? options.classes : 0),
        counts(options.counts && options.labels_needed),
        odd_labels(!options.binary_labels || options.labels_needed),
        hash_shift(options.hash_bits == 0 ? 0 : 64 - options.hash_bits) {}

  // row: its number over all files, from 1.
  bool wants(std::uint64_t row) const {
    return part == Part::kAll || (row % modulus == 0) == (part == Part::kHeldOut);
  }
  Key key(Key k) const { return hash_shift == 0 ? k : place(k) >> hash_shift; }

  Part part;
  std::uint64_t modulus;
  bool binary_labels;
  std::uint32_t classes;  // 0: labels are no classes.
  bool counts;            // Labels are not below 0.
  bool odd_labels;  // A label:weight other than -1, 0 or 1 is one, and no entry of a row without a label.
  unsigned hash_shift;
};

inline bool fail(RowError& error, const char* at, const char* expected) {
  error.at = at;
  error.expected = expected;
  return false;
}

inline bool ends_token(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

inline constexpr const char* kNotALabel =
    "a label that is -1, 0 or 1 (--loss squared, poisson or classes learns others)";
inline constexpr const char* kNotACount = "a count: a number of at least 0";
inline bool is_class(float label, std::uint32_t classes) {
  return label >= 0 && label < static_cast<float>(classes) && label == std::floor(label);
}

// What becomes of a label that was read at `at`; false: error is set.
inline bool check_label(const RowRules& rules, const char* at, float& label, RowError& error) {
  if (rules.binary_labels) {
    if (label == -1.0f) label = 0.0f;
    if (label != 0.0f && label != 1.0f) return fail(error, at, kNotALabel);
  }
  if (rules.counts && label < 0) return fail(error, at, kNotACount);
  return rules.classes == 0 || is_class(label, rules.classes) || fail_class(error, at, rules.classes);
}

// A label that ends before a blank, a line end or `stop`. Moves p behind it; false: error is set.
inline bool parse_label(const char*& p, const char* end, const RowRules& rules, char stop, float& label,
                        RowError& error) {
  const char* q = parse_real(p, end, label);
  if (q == nullptr || !(ends_token(*q) || *q == stop)) return fail(error, p, "a label (a finite number)");
  if (!check_label(rules, p, label, error)) return false;
  p = q;
  return true;
}

// row(p, end, out, error): parses the row at p up to and including its '\n', calls out.end_row() and returns
// the place behind, or null with `error` set.
template <class Row>
bool parse_rows(Row&& row, const RowRules& rules, bool comments, Cursor& cursor, std::size_t max_rows,
                BatchWriter& out, RowError& error) {
  const char* p = cursor.p;
  while (p != cursor.end && out.rows() < max_rows) {
    if (!is_row(p, comments)) {
      p = line_end(p, cursor.end) + 1;
      continue;
    }
    if (rules.part != Part::kAll && !rules.wants(++cursor.row)) {
      p = line_end(p, cursor.end) + 1;
      continue;
    }
    const char* next = row(p, cursor.end, out, error);
    if (next == nullptr) {
      out.abandon_row();
      cursor.p = p;
      return false;
    }
    p = next;
  }
  cursor.p = p;
  return true;
}

// A parser whose Parser::parse_row(p, end, out, error) is what parse_rows() asks of a row.
template <class Parser, bool kComments = false>
class LineParser : public RowParser {
 public:
  bool parse(Cursor& cursor, std::size_t max_rows, BatchWriter& out, RowError& error) final {
    const auto row = [this](const char* p, const char* end, BatchWriter& w, RowError& e) {
      return static_cast<Parser*>(this)->parse_row(p, end, w, e);
    };
    return parse_rows(row, rules_, kComments, cursor, max_rows, out, error);
  }

 protected:
  explicit LineParser(const ReadOptions& options) : rules_(options) {}
  const RowRules rules_;
};

// Has a parser that tells names as it goes parse one row; none where it cannot.
template <class Parser>
void name_by_parsing(Parser& parser, std::string_view line, std::vector<std::string>& names) {
  const std::string text = std::string(line) + std::string(kTextPad, '\0');
  Batch batch;
  BatchWriter out;
  RowError error;
  out.attach(batch, parser.with_fields(), false);
  if (parser.parse_row(text.data(), text.data() + line.size(), out, error) == nullptr) names.clear();
  out.detach();
}

}  // namespace thalweg
