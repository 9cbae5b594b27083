// A parser of a format's rows whose values are divided by their features' scales.
#pragma once

#include <memory>

#include "data/column/columns.h"
#include "data/read_options.h"
#include "data/reader/row_format.h"
#include "data/reader/row_parser.h"

namespace thalweg {

// The format's own, or a scaling one of it by ReadOptions::value_scales. Precondition: these are scales.
std::unique_ptr<RowParser> entry_parser(const ReadOptions& options, const RowFormat& format,
                                        const Columns& columns);

}  // namespace thalweg
