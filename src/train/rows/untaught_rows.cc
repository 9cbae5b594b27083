#include "train/rows/untaught_rows.h"

#include <algorithm>

#include "table/init_value.h"

namespace thalweg {

bool without_untaught(const TableSpec& table, std::span<const PlacedKey> keys, std::span<const float> rows,
                      std::vector<float>& taught) {
  if (table.kind == TableSpec::Kind::kDense || table.init.kind == InitSpec::Kind::kZero) return false;
  taught.assign(rows.begin(), rows.end());
  std::vector<float> initial(table.dim);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const auto row = std::span(taught).subspan(k * table.dim, table.dim);
    const auto is_initial = [&](std::size_t columns) {
      fill_initial(table.init, unplace(keys[k]), std::span(initial).first(columns));
      return std::equal(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(columns), initial.begin());
    };
    if (is_initial(1) && is_initial(table.dim)) std::fill(row.begin(), row.end(), 0.0f);
  }
  return true;
}

}  // namespace thalweg
