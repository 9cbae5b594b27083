// The language that says what columns are: see columns.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/column/columns.h"
#include "thalweg/status.h"

namespace thalweg {

struct ColumnItem {
  std::string name;     // Empty if it has none.
  bool quoted = false;  // So that '*' and ".." in it are its own.
  Column::Kind kind = Column::Kind::kIgnored;
  NumberForm number;
  bool number_told = false;  // By a shape, a scale, or "raw".
  std::size_t count = 1;     // 0: all remaining columns.
};

// As it must stand in an item.
std::string quoted_column_name(const std::string& name);

// Whether its name stands for several columns, and then whether for this one; see columns.h.
bool is_pattern(const ColumnItem& item);
bool matches_pattern(std::string_view pattern, std::string_view name);
// FIRST and LAST; nothing if it is no range.
std::optional<std::pair<std::string_view, std::string_view>> range_of(const ColumnItem& item);

// kUsage names `source` and the item that cannot be read.
Result<std::vector<ColumnItem>> parse_column_items(std::string_view text, std::string_view source);

}  // namespace thalweg
