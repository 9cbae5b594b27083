// What the cells of a column have in common, in rows that are looked at before any is learnt from.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/column/columns.h"

namespace thalweg {

class MemberKinds;  // member_kinds.h

struct CellSample {
  // A cell as its column's rows are compared.
  struct Seen {
    std::uint64_t hash;
    double number;  // NaN: it is none.
    double label;
  };
  std::vector<Seen> seen;  // In the rows' order, but for missing cells.
  std::uint64_t rows = 0, numbers = 0, whole = 0, distinct = 0;
  double smallest = 0, largest = 0;
  std::uint64_t not_zero = 0;
  bool increasing = true;
  double last = 0;
};

// Of a number as it is learnt from.
double size_of_number(double number, NumberForm::Shape shape);

// `rows`: whole lines, kTextPad readable bytes behind them. Of each column.
std::vector<CellSample> sample_cells(std::string_view rows, const Columns& columns);

// Of each member that lines of JSON have with a value, which becomes a column: numeric where some value is a
// number, else categorical, unless `kinds` says what it is; none for members that are arrays or that `kinds`
// leaves out. Label and weight as JSON lines have them.
std::vector<CellSample> sample_members(std::string_view rows, const ReadOptions& options,
                                       const MemberKinds& kinds, Columns& members);

}  // namespace thalweg
