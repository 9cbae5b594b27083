// Tables of a program as training rows: columns with names, read as those of the same table as CSV are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/memory/cells.h"
#include "data/memory/memory_rows.h"
#include "thalweg/status.h"

namespace thalweg {

// Some rows of a table, in order.
struct TableChunk {
  std::uint64_t rows = 0;
  std::vector<CellColumn> columns;
};

struct Table {
  std::vector<std::string> names;  // Of its columns.
  std::vector<TableChunk> chunks;
  // By their number: what columns are whose cells cannot be read, whatever stands in the chunks. They are
  // refused where they are used.
  std::map<std::size_t, std::string> unreadable = {};
  std::shared_ptr<const void> owner;  // Keeps what the chunks point to.
};

// Unless options say otherwise a column of numbers is numeric and any other one categorical. Names are those
// that a header of CSV gives them: without the blanks around them, "c2" where there is none. kUsage for names
// that repeat.
Result<std::shared_ptr<const MemoryRows>> table_rows(Table table);

}  // namespace thalweg
