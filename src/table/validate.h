// What a table refuses before it changes anything. Every message names the table, the place and what was
// expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/range_set.h"
#include "table/table.h"
#include "thalweg/options.h"
#include "thalweg/status.h"

namespace thalweg {

Status check_spec(const TableSpec& spec, const RangeSet& owned, const CustomRule* custom);

// Strictly ascending placed keys, each inside `ranges`, which lie inside `owned`; none is the reserved key.
Status check_placed_keys(const TableSpec& spec, const RangeSet& owned, std::span<const std::uint64_t> keys,
                         RangeSpan ranges);
// Strictly ascending row numbers, each inside `ranges`, which lie inside `owned`.
Status check_row_numbers(const TableSpec& spec, const RangeSet& owned, std::span<const std::uint64_t> rows,
                         RangeSpan ranges);

// A push of `ranges`: keys as above (dense: one row number, whose block ends inside `ranges`), and `dim`
// finite floats a row.
Status check_contribution(const TableSpec& spec, const RangeSet& owned, const Contribution& part,
                          RangeSpan ranges);

// Rows that are loaded have `width` floats: dim, or `stored_width` with their state.
Status check_width(const TableSpec& spec, std::size_t width, std::size_t stored_width);
// `values` holds `width` finite floats for each of `count` rows; key_at(i) names row i's key in messages.
Status check_values(const TableSpec& spec, std::span<const float> values, std::size_t width,
                    std::size_t count, const std::function<std::uint64_t(std::size_t)>& key_at);

}  // namespace thalweg
