// A parser whose rows have the products of their entries behind these.
#pragma once

#include <memory>
#include <string>

#include "data/column/columns.h"
#include "data/read_options.h"
#include "data/reader/row_format.h"
#include "data/reader/row_parser.h"
#include "thalweg/status.h"

namespace thalweg {

// Of ReadOptions::interactions. Errors as Interactions::find().
Status check_interactions(const ReadOptions& options, const RowFormat& format, const Columns& columns,
                          const std::string& path);

// The format's own, or a pairing one of it. Precondition: check_interactions() has passed.
std::unique_ptr<RowParser> row_parser(const ReadOptions& options, const RowFormat& format,
                                      const Columns& columns);

}  // namespace thalweg
