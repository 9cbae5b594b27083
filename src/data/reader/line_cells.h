// Cells of some columns, out of a row's line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "data/column/columns.h"
#include "thalweg/status.h"

namespace thalweg {

class LineCells {
 public:
  // kUsage where a name is no column's, or the data has none. `what`: the option that names them.
  static Result<LineCells> find(const Columns& columns, const std::vector<std::string>& names,
                                std::string_view what);
  // In the order of the names, without quotes; empty where the line, which ends with '\n', has no such cell.
  const std::vector<std::string>& of(std::string_view line);

 private:
  char separator_ = ',';
  std::vector<std::size_t> columns_;  // Of each name.
  std::size_t last_ = 0;
  std::vector<std::string> cells_, all_;
  std::string scratch_;
};

// Names between commas; one in double quotes, doubled inside, may have commas. kUsage.
Result<std::vector<std::string>> parse_column_names(const std::string& text, std::string_view what);
// A cell as CSV has it between commas.
void append_csv_cell(std::string_view cell, std::string& out);

}  // namespace thalweg
