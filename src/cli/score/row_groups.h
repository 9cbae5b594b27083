// Which group a row belongs to, as --by names it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cli/options/options.h"
#include "cli/view/output.h"
#include "data/data_set.h"
#include "data/reader/line_cells.h"
#include "model/metric/group_rows.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::size_t kGroupRowsMax = std::size_t{1} << 24;

class RowGroups {
 public:
  // `by`: a column of CSV, a member of JSON lines, or of libsvm "qid". kUsage otherwise.
  static Result<RowGroups> find(const DataSet& data, const std::string& by);
  // A hash of the cell, or of N in the line's qid:N; rows that have none are one group.
  std::uint64_t of(std::string_view line);
  // Once all rows have come: as LineCells has it, and kUsage where no row of libsvm had a qid.
  Status check() const;

 private:
  std::optional<LineCells> cells_;
  bool has_query_ = false;
};

// Says how many groups were measured, and gives what --json has of them beside their metrics.
nlohmann::ordered_json tell_of_grouping(const Options& options, const GroupRows::Measures& measures,
                                        Output& out);

}  // namespace thalweg
