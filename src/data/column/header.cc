#include "data/column/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "data/column/column_items.h"
#include "data/read_options.h"
#include "data/reader/cell_words.h"
#include "data/reader/number.h"

namespace thalweg {
namespace {

// Whether the column at `c` may lack a name: it numbers the rows, or has nothing, behind a last separator.
bool needs_no_name(const std::vector<HeadRow>& rows, std::size_t c) {
  std::vector<std::string> cells;
  for (const HeadRow& row : rows) cells.push_back(c < row.cells.size() ? row.cells[c] : std::string());
  std::sort(cells.begin(), cells.end());
  if (cells.empty() || cells.back().empty()) return true;
  return !cells.front().empty() && std::adjacent_find(cells.begin(), cells.end()) == cells.end();
}

}  // namespace

bool is_number_cell(std::string_view cell) {
  float value = 0.0f;
  const std::string padded = std::string(cell) + "\n" + std::string(kTextPad, '\0');
  const char* end = parse_real(padded.c_str(), padded.c_str() + cell.size(), value);
  return end == padded.c_str() + cell.size();
}

bool is_header(const HeadCells& first, const std::vector<HeadRow>& rows) {
  if (std::any_of(first.begin(), first.end(), is_number_cell)) return false;
  const auto is_empty = [](const std::string& cell) { return cell.empty(); };
  if (std::none_of(first.begin(), first.end(), is_empty)) return true;
  if (std::all_of(first.begin(), first.end(), is_empty)) return false;
  for (std::size_t c = 0; c < first.size(); ++c) {
    const auto repeats = [&](const HeadRow& row) { return c < row.cells.size() && row.cells[c] == first[c]; };
    if (first[c].empty() ? !needs_no_name(rows, c) : std::any_of(rows.begin(), rows.end(), repeats))
      return false;
  }
  return true;
}

bool is_labelled_row(const HeadCells& first, const std::string& columns) {
  const auto items = parse_column_items(columns, "--columns");
  if (columns.empty() || !items) return false;
  std::optional<std::size_t> label;
  std::size_t at = 0;
  for (const ColumnItem& item : *items) {
    if (std::find(first.begin(), first.end(), item.name) != first.end() && !item.name.empty()) return false;
    if (item.kind == Column::Kind::kLabel) label = at;
    at += item.count == 0 ? first.size() - std::min(first.size(), at) : item.count;
  }
  return label && *label < first.size() && truth_of(trimmed(first[*label]));
}

HeadCells column_names(HeadCells names) {
  std::set<std::string> known;
  for (std::size_t c = 0; c < names.size(); ++c) {
    names[c] = trimmed(names[c]);
    if (names[c].empty()) names[c] = fmt::format("c{}", c + 1);
    const std::string own = names[c];
    for (int again = 1; !known.insert(names[c]).second; ++again) names[c] = fmt::format("{}.{}", own, again);
  }
  return names;
}

}  // namespace thalweg
