// Files of separated text whose columns stand in another order than those of the data's first file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "data/byte_stream.h"
#include "data/column/columns.h"

namespace thalweg {

struct CellOrder {
  std::vector<std::size_t> places;  // Of each column of the first file in this one; empty: the same order.
  char separator = ',';
};

// By the names of both headers; the same order where these are not the same names in another one.
CellOrder cell_order(const Columns& first, const Columns& other);

// The same text, each line's cells as they are written but in the first file's order, so that lines are as
// long as before. Lines of other numbers of cells stay as they are. `begin`: what has been read already.
std::unique_ptr<ByteStream> in_order(std::string begin, std::unique_ptr<ByteStream> rest, CellOrder order);

}  // namespace thalweg
