// What the entries of a row are called, from the line that it was read from: hashing has no way back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/column/columns.h"

namespace thalweg {

// A name for each entry, in their order; `line` ends with '\n', `fields` are the entries'.
using EntryNames = void (*)(std::string_view line, const Columns& columns,
                            std::span<const std::uint32_t> fields, std::vector<std::string>& names);

// "site=a.com", of a numeric column "price".
void name_cells(std::string_view line, const Columns& columns, std::span<const std::uint32_t> fields,
                std::vector<std::string>& names);
// "I1=5" to "I13=", "C1=68fd1e64" to "C26=".
void name_criteo_cells(std::string_view line, const Columns& columns, std::span<const std::uint32_t> fields,
                       std::vector<std::string>& names);
// The index, of index:value or field:index:value.
void name_indices(std::string_view line, const Columns& columns, std::span<const std::uint32_t> fields,
                  std::vector<std::string>& names);

}  // namespace thalweg
