// The language that says what columns are: see columns.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "data/reader/columns.h"
#include "thalweg/status.h"

namespace thalweg {

struct ColumnItem {
  std::string name;  // Empty if it has none.
  Column::Kind kind = Column::Kind::kIgnored;
  std::size_t count = 1;  // 0: all remaining columns.
};

// As it must stand in an item.
std::string quoted_column_name(const std::string& name);

// kUsage names `source` and the item that cannot be read.
Result<std::vector<ColumnItem>> parse_column_items(std::string_view text, std::string_view source);

}  // namespace thalweg
