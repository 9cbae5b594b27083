// Cells of some columns, or members of JSON lines, out of a row's line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_set.h"
#include "thalweg/status.h"

namespace thalweg {

class LineCells {
 public:
  // kUsage where a name is no column's, or rows have no parts with names. `what`: the option that names them.
  static Result<LineCells> find(const DataSet& data, const std::vector<std::string>& names,
                                std::string_view what);
  // In the order of the names, without quotes; empty where the line, which ends with '\n', has no such cell.
  const std::vector<std::string>& of(std::string_view line);
  // kUsage where none of the lines so far, of which there were some, had one of the members: no such is
  // meant.
  Status check_members() const;

 private:
  char separator_ = ',';
  std::vector<std::size_t> columns_;  // Of each name.
  std::size_t last_ = 0;
  bool members_ = false;
  std::vector<std::string> names_;  // Of members,
  std::vector<bool> seen_;          // which had a text,
  std::string what_;                // and the option that names them.
  bool any_ = false;                // There were lines.
  std::vector<std::string> cells_, all_;
  std::string scratch_;
};

// Names between commas; one in double quotes, doubled inside, may have commas. kUsage.
Result<std::vector<std::string>> parse_column_names(const std::string& text, std::string_view what);
// A cell as CSV has it between commas.
void append_csv_cell(std::string_view cell, std::string& out);

}  // namespace thalweg
