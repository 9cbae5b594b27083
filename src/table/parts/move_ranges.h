// Key ranges that go from one table of a server to another.
#pragma once

#include "table/table.h"

namespace thalweg {

// `to` gets these ranges with their rows, which `from` forgets; sparse rows stay where they are in memory.
// Precondition: the tables are of one spec, `from` owns the ranges, `to` none of them. kIo: no memory, and
// nothing has changed.
Status move_ranges(Table& from, Table& to, const RangeSet& ranges);

}  // namespace thalweg
