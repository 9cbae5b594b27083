#include "server/shown_rows.h"

#include <algorithm>

#include "table/validate.h"

namespace thalweg {
namespace {

void copy_sparse(const Payload& from, std::span<const std::uint64_t> keys, std::span<float> rows,
                 std::size_t dim) {
  const auto known = from.keys.as<std::uint64_t>();
  const auto values = from.values.as<float>();
  std::size_t at = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    while (at < known.size() && known[at] < keys[i]) ++at;
    if (at == known.size()) return;
    if (known[at] == keys[i]) std::copy_n(&values[at * dim], dim, &rows[i * dim]);
  }
}

void copy_dense(const Payload& from, std::span<const std::uint64_t> block, std::span<float> rows,
                std::size_t dim) {
  const auto known = from.keys.as<std::uint64_t>();
  const std::uint64_t begin = std::max(known[0], block[0]);
  const std::uint64_t end = std::min(known[0] + known[1], block[0] + block[1]);
  if (begin >= end) return;
  std::copy_n(from.values.as<float>().begin() + static_cast<std::ptrdiff_t>((begin - known[0]) * dim),
              (end - begin) * dim, rows.begin() + static_cast<std::ptrdiff_t>((begin - block[0]) * dim));
}

}  // namespace

void copy_shown(const TableSpec& spec, const Payload& shown, std::span<const std::uint64_t> keys,
                std::span<float> rows) {
  const bool dense = spec.kind == TableSpec::Kind::kDense;
  (dense ? copy_dense : copy_sparse)(shown, keys, rows, spec.dim);
}

bool is_shown(const TableSpec& spec, const Payload& rows, RangeSpan ranges) {
  const auto keys = rows.keys.as<std::uint64_t>();
  const std::size_t floats = rows.values.size() / sizeof(float);
  if (keys.empty()) return false;
  if (spec.kind == TableSpec::Kind::kSparse)
    return check_placed_keys(spec, ranges, keys, ranges).ok() && floats == keys.size() * spec.dim;
  const std::uint64_t begin = range_first_row(ranges.begin, spec.ranges, spec.rows);
  const std::uint64_t end = range_first_row(ranges.end, spec.ranges, spec.rows);
  return keys.size() == 2 && keys[0] >= begin && keys[0] <= end && keys[1] <= end - keys[0] &&
         floats == keys[1] * spec.dim;
}

}  // namespace thalweg
