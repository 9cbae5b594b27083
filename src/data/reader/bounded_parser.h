// Rows whose features must lie below a bound, as numbers of a dense model's inputs do.
#pragma once

#include <memory>

#include "data/reader/row_parser.h"
#include "thalweg/ids.h"

namespace thalweg {

// What `inner` parses, where a row with a feature of `below` or more is bad.
std::unique_ptr<RowParser> bounded_parser(std::unique_ptr<RowParser> inner, Key below);

}  // namespace thalweg
