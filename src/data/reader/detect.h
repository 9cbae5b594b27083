// Finding a file's format by looking at its first rows.
#pragma once

#include <string>
#include <string_view>

#include "data/reader/row_format.h"
#include "thalweg/status.h"

namespace thalweg {

// `head` is the text's begin and ends with '\n'. Each of the first lines is taken for what it looks like;
// most win. A line with nothing but a label decides only where there is no other. Unless `labels_needed`, a
// line of Criteo may be without its label's column. `more`: formats beside the built-in ones.
Result<const RowFormat*> detect_format(std::string_view head, const std::string& path,
                                       bool labels_needed = true, const RowFormats& more = {});

// Text as it can be shown in a message: at most 40 bytes of [at, end) up to a blank, control bytes as \xNN.
std::string shown(const char* at, const char* end);

}  // namespace thalweg
