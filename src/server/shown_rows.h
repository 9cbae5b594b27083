// Rows that a shard was shown, put in the place of what a table has of them now.
#pragma once

#include <span>

#include "base/payload.h"

namespace thalweg {

// Copies the rows that both have from what was shown into `rows`, which has one for each key of a pull.
void copy_shown(const TableSpec& spec, const Payload& shown, std::span<const std::uint64_t> keys,
                std::span<float> rows);
// Whether these are rows of keys in these ranges, which may have been shown.
bool is_shown(const TableSpec& spec, const Payload& rows, RangeSpan ranges);

}  // namespace thalweg
