// Rows of which a model can take no more than it was made for: a dense one as many inputs, one of fields as
// many fields.
#pragma once

#include <memory>

#include "data/read_options.h"
#include "data/reader/row_parser.h"

namespace thalweg {

// What `inner` parses, where a row beyond the bounds is bad.
std::unique_ptr<RowParser> bounded_parser(std::unique_ptr<RowParser> inner, const RowBounds& bounds);

}  // namespace thalweg
