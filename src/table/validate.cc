#include "table/validate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/limits.h"
#include "table/update_kernels.h"
#include "table/update_rule.h"

namespace thalweg {
namespace {

// As models can be saved, and rows fit frames with their state.
constexpr std::size_t kCustomStateMax = limits::kDimMax;

Status refuse(const TableSpec& spec, Code code, const std::string& what) {
  return {code, fmt::format("table '{}': {}", spec.name, what)};
}

Status check_span(const TableSpec& spec, const RangeSet& owned, RangeSpan ranges) {
  if (owned.contains(ranges)) return ok_status();
  return refuse(spec, Code::kRefused,
                fmt::format("ranges [{},{}) are not held here, expected ranges inside {}", ranges.begin,
                            ranges.end, text_of(owned)));
}

}  // namespace

Status check_spec(const TableSpec& spec, const RangeSet& owned, const CustomRule* custom) {
  if (spec.kind > TableSpec::Kind::kDense || spec.init.kind > InitSpec::Kind::kConstant) {
    return refuse(spec, Code::kUsage,
                  fmt::format("kind {} with initial values of kind {}, expected enumerators",
                              static_cast<unsigned>(spec.kind), static_cast<unsigned>(spec.init.kind)));
  }
  if (spec.dim == 0) return refuse(spec, Code::kUsage, "dim is 0, expected at least 1 float a row");
  if (spec.dim > limits::kDimMax) {
    return refuse(spec, Code::kUsage,
                  fmt::format("dim is {}, expected at most {}", spec.dim, limits::kDimMax));
  }
  if (spec.ranges == 0) return refuse(spec, Code::kUsage, "ranges is 0, expected at least 1");
  if (!owned.empty() && owned.runs().back().end > spec.ranges) {
    return refuse(spec, Code::kUsage,
                  fmt::format("owned ranges {} lie outside the table's [0,{})", text_of(owned), spec.ranges));
  }
  const bool dense = spec.kind == TableSpec::Kind::kDense;
  if (dense != (spec.rows > 0)) {
    return refuse(spec, Code::kUsage,
                  fmt::format("rows is {}, expected {}", spec.rows,
                              dense ? "at least 1 for a dense table" : "0 for a sparse table, which grows"));
  }
  if (spec.rows > limits::kDenseRowsMax) {
    return refuse(spec, Code::kUsage,
                  fmt::format("rows is {}, expected at most {}", spec.rows, limits::kDenseRowsMax));
  }
  if (!std::isfinite(spec.init.scale)) {
    return refuse(spec, Code::kUsage,
                  fmt::format("initial scale is {}, expected a finite number", spec.init.scale));
  }
  if (const Status rule = UpdateRule::check(spec.rule, custom); !rule.ok())
    return refuse(spec, rule.code(), rule.message());
  const std::size_t state = spec.rule.kind == RuleKind::kCustom ? custom->state_floats(spec.dim) : 0;
  if (state > kCustomStateMax) {
    return refuse(spec, Code::kUsage,
                  fmt::format("custom rule '{}' keeps {} floats of state for each row, expected at most {}",
                              spec.rule.custom, state, kCustomStateMax));
  }
  return ok_status();
}

Status check_placed_keys(const TableSpec& spec, const RangeSet& owned, std::span<const std::uint64_t> keys,
                         RangeSpan ranges) {
  if (Status span = check_span(spec, owned, ranges); !span.ok() || keys.empty()) return span;
  if (const std::size_t bad = kernels::find_unsorted(keys); bad < keys.size()) {
    return refuse(
        spec, Code::kRefused,
        fmt::format("position {}: key {} (placed {:#x}) follows placed {:#x}, expected strictly ascending "
                    "placed keys",
                    bad, unplace(keys[bad]), keys[bad], keys[bad - 1]));
  }
  if (keys.back() == kNoPlace) {
    return refuse(
        spec, Code::kRefused,
        fmt::format("position {}: key {} is reserved, expected any other", keys.size() - 1, kReservedKey));
  }
  const auto outside = [&](std::size_t i) { return !ranges.contains(range_of(keys[i], spec.ranges)); };
  if (!outside(0) && !outside(keys.size() - 1)) return ok_status();
  std::size_t bad = 0;
  while (!outside(bad)) ++bad;
  return refuse(
      spec, Code::kRefused,
      fmt::format("position {}: key {} belongs to range {}, expected a range in [{}, {})", bad,
                  unplace(keys[bad]), range_of(keys[bad], spec.ranges).value, ranges.begin, ranges.end));
}

Status check_row_numbers(const TableSpec& spec, const RangeSet& owned, std::span<const std::uint64_t> rows,
                         RangeSpan ranges) {
  if (Status span = check_span(spec, owned, ranges); !span.ok() || rows.empty()) return span;
  if (const std::size_t bad = kernels::find_unsorted(rows); bad < rows.size()) {
    return refuse(spec, Code::kRefused,
                  fmt::format("position {}: row {} follows row {}, expected strictly ascending rows", bad,
                              rows[bad], rows[bad - 1]));
  }
  const std::uint64_t begin = range_first_row(ranges.begin, spec.ranges, spec.rows);
  const std::uint64_t end = range_first_row(ranges.end, spec.ranges, spec.rows);
  if (rows.front() >= begin && rows.back() < end) return ok_status();
  const auto bad =
      std::find_if(rows.begin(), rows.end(), [&](auto row) { return row < begin || row >= end; });
  return refuse(spec, Code::kRefused,
                fmt::format("position {}: row {} lies outside [{}, {}), the rows of ranges [{}, {})",
                            bad - rows.begin(), *bad, begin, end, ranges.begin, ranges.end));
}

Status check_width(const TableSpec& spec, std::size_t width, std::size_t stored_width) {
  if (width == spec.dim || width == stored_width) return ok_status();
  return {Code::kModel, fmt::format("table '{}': stored rows are {} floats wide, expected {}, or {} with the "
                                    "optimizer's state",
                                    spec.name, width, spec.dim, stored_width)};
}

Status check_values(const TableSpec& spec, std::span<const float> values, std::size_t width,
                    std::size_t count, const std::function<std::uint64_t(std::size_t)>& key_at) {
  if (values.size() / width != count || values.size() % width != 0) {
    return refuse(spec, Code::kRefused,
                  fmt::format("{} values for {} keys, expected {} a key", values.size(), count, width));
  }
  const std::size_t bad = kernels::find_non_finite(values);
  if (bad == values.size()) return ok_status();
  return refuse(spec, Code::kNonFinite,
                fmt::format("position {}: key {}, column {} is {}, expected a finite number", bad / width,
                            key_at(bad / width), bad % width, values[bad]));
}

Status check_contribution(const TableSpec& spec, const RangeSet& owned, const Contribution& part,
                          RangeSpan ranges) {
  if (spec.kind == TableSpec::Kind::kSparse) {
    if (Status keys = check_placed_keys(spec, owned, part.keys, ranges); !keys.ok()) return keys;
    return check_values(spec, part.grads, spec.dim, part.keys.size(),
                        [&](std::size_t i) { return unplace(part.keys[i]); });
  }
  const std::size_t rows = part.grads.size() / spec.dim;
  if (part.keys.size() != 1) {
    return {Code::kRefused,
            fmt::format("table '{}': {} keys for a block of rows, expected its first row alone", spec.name,
                        part.keys.size())};
  }
  if (Status first = check_row_numbers(spec, owned, part.keys, ranges); !first.ok()) return first;
  const std::uint64_t end = range_first_row(ranges.end, spec.ranges, spec.rows);
  if (rows > end - part.keys[0]) {
    return {Code::kRefused, fmt::format("table '{}': {} rows from row {}, expected to end by row {}",
                                        spec.name, rows, part.keys[0], end)};
  }
  return check_values(spec, part.grads, spec.dim, rows, [&](std::size_t i) { return part.keys[0] + i; });
}

}  // namespace thalweg
