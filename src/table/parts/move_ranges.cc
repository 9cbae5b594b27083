#include "table/parts/move_ranges.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "table/sparse_table.h"

namespace thalweg {
namespace {

Status copy_range(const Table& from, Table& to, RangeId range) {
  std::vector<std::uint64_t> keys;
  std::vector<float> rows;
  from.copy_rows(range, 0, ~std::size_t{0}, keys, rows);
  return to.load(range, {keys, rows, to.stored_width()});
}

}  // namespace

Status move_ranges(Table& from, Table& to, const RangeSet& ranges) {
  if (Status added = to.add(ranges); !added.ok()) return added;
  for (const RangeSpan run : ranges.runs()) {
    for (std::uint16_t r = run.begin; r < run.end; ++r) {
      const RangeId range{r};
      SparseTable *const old = from.part_with(range), *const its = to.part_with(range);
      if (old != nullptr && its != nullptr) {
        its->swap_rows(range, *old);
      } else if (Status copied = copy_range(from, to, range); !copied.ok()) {
        to.remove(ranges);
        return copied;
      }
    }
  }
  from.remove(ranges);
  return ok_status();
}

}  // namespace thalweg
