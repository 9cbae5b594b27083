#include "data/reader/entry_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/column/number_form.h"
#include "data/reader/cell_words.h"
#include "data/reader/number.h"

namespace thalweg {
namespace {

constexpr std::string_view kBetweenEntries = " \t\r\n";
constexpr std::size_t kCriteoIntegers = 13, kCriteoCells = 39;

std::vector<std::string> cells_of_line(std::string_view line, char separator) {
  std::vector<std::string> cells;
  std::string scratch;
  for (const char* p = line.data();; ++p) {
    std::string_view cell;
    if (!next_cell(p, separator, cell, scratch)) return cells;
    cells.emplace_back(cell);
    if (*p == '\n') return cells;
  }
}

std::string name_of_cell(const Column& column, std::string_view cell) {
  if (column.kind != Column::Kind::kNumeric) return fmt::format("{}={}", column.name, cell);
  if (column.number.shape != NumberForm::Shape::kBucket) return column.name;
  const std::string padded = std::string(trimmed(cell)) + "\n" + std::string(kTextPad, '\0');
  float value = 0;
  const bool missing = parse_real(padded.data(), padded.data() + padded.find('\n'), value) == nullptr;
  return fmt::format("{}={}", column.name, missing ? std::string() : bucket_name(value));
}

}  // namespace

void name_cells(const NamedRow& row, std::vector<std::string>& names) {
  const std::vector<std::string> cells = cells_of_line(row.line, row.columns.separator);
  const auto is_of = [](const Column& column, std::uint32_t field) {
    return column.field == field && is_feature(column);
  };
  for (const std::uint32_t field : row.fields) {
    std::size_t c = 0;
    while (c < row.columns.list.size() && !is_of(row.columns.list[c], field)) ++c;
    if (c >= cells.size()) return;
    const Column& column = row.columns.list[c];
    names.push_back(name_of_cell(column, cells[c]));
  }
}

void name_criteo_cells(const NamedRow& row, std::vector<std::string>& names) {
  const std::vector<std::string> cells = cells_of_line(row.line, '\t');
  if (cells.size() < kCriteoCells) return;
  const std::size_t first = cells.size() - kCriteoCells;  // Behind the label, if there is one.
  for (const std::uint32_t field : row.fields) {
    if (field >= kCriteoCells) return;
    const bool integer = field < kCriteoIntegers;
    names.push_back(fmt::format("{}{}={}", integer ? 'I' : 'C', field + 1 - (integer ? 0 : kCriteoIntegers),
                                cells[first + field]));
  }
}

void name_indices(const NamedRow& row, std::vector<std::string>& names) {
  const std::string_view line = row.line;
  bool is_label = true;
  for (std::size_t at = line.find_first_not_of(kBetweenEntries); at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(kBetweenEntries, at), line.size());
    const std::string_view token = line.substr(at, end - at);
    if (token.front() == '#') return;
    if (!is_label && !token.starts_with("qid:")) {
      const std::size_t colon = token.find(':'), last = token.rfind(':');
      const std::size_t from = colon == last ? 0 : colon + 1;  // Behind the field.
      names.emplace_back(token.substr(from, std::min(last, token.size()) - from));
    }
    is_label = false;
    at = line.find_first_not_of(kBetweenEntries, end);
  }
}

}  // namespace thalweg
