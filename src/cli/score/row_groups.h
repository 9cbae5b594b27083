// Which group a row belongs to, as --by names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/data_set.h"
#include "data/reader/line_cells.h"
#include "thalweg/status.h"

namespace thalweg {

class RowGroups {
 public:
  // `by`: a column of CSV, a member of JSON lines, or of libsvm "qid". kUsage otherwise.
  static Result<RowGroups> find(const DataSet& data, const std::string& by);
  // A hash of the cell, or of N in the line's qid:N; rows that have none are one group.
  std::uint64_t of(std::string_view line);
  // Once all rows have come: as LineCells has it.
  Status check() const { return cells_ ? cells_->check_members() : ok_status(); }

 private:
  std::optional<LineCells> cells_;
};

}  // namespace thalweg
