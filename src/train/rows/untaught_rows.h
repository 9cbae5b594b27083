// What servers say of features that no training row has had.
#pragma once

#include <span>
#include <vector>

#include "base/mix.h"
#include "thalweg/options.h"

namespace thalweg {

// Servers answer for a row that nobody has pushed to by its initial value, and a saved model has no such row,
// which scores as 0: so held-out rows are to be scored, too. Fills `taught` with `rows`, one for each of
// `keys`, and 0 where a row still has its initial value; false, and nothing, where all initial values are 0.
bool without_untaught(const TableSpec& table, std::span<const PlacedKey> keys, std::span<const float> rows,
                      std::vector<float>& taught);

}  // namespace thalweg
