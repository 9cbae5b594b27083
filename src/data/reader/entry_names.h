// What the entries of a row are called, from the line that it was read from: hashing has no way back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/column/columns.h"
#include "data/read_options.h"

namespace thalweg {

// A row, and how it was read; `line` ends with '\n', `fields` are the entries'.
struct NamedRow {
  std::string_view line;
  const ReadOptions& options;
  const Columns& columns;
  std::span<const std::uint32_t> fields;
};
// A name for each entry, in their order.
using EntryNames = void (*)(const NamedRow& row, std::vector<std::string>& names);

// "site=a.com", of a numeric column "price", in buckets "price=476..515".
void name_cells(const NamedRow& row, std::vector<std::string>& names);
// "I1=5" to "I13=", "C1=68fd1e64" to "C26=".
void name_criteo_cells(const NamedRow& row, std::vector<std::string>& names);
// The index, of index:value or field:index:value.
void name_indices(const NamedRow& row, std::vector<std::string>& names);

}  // namespace thalweg
