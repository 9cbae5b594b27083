// A key range of a table.
#pragma once

#include <utility>

#include "thalweg/ids.h"

namespace thalweg {

using RangeOf = std::pair<TableId, RangeId>;

}  // namespace thalweg
