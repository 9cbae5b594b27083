// Whether the first line of separated text names the columns, and how.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

using HeadCells = std::vector<std::string>;
struct HeadRow {
  HeadCells cells;
  std::uint64_t line = 0;  // From 1.
};

bool is_number_cell(std::string_view cell);
// Names are no numbers. Where some are missing, what is below numbers the rows or is empty too, as programs
// write an index or a last separator, and no name is a cell of its column.
bool is_header(const HeadCells& first, const std::vector<HeadRow>& rows);
// Whether it has a label, in words such as "yes", where `columns`, as ReadOptions has it, says the label to
// be, and is so a row, though none of its cells is a number. Never where it has a name that these columns
// have.
bool is_labelled_row(const HeadCells& first, const std::string& columns);
// "c3" where there is none; the second of two "site" is "site.1", as pandas has it.
HeadCells column_names(HeadCells names);

}  // namespace thalweg
