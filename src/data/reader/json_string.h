// Strings and numbers of JSON (RFC 8259, sections 6 and 7) in a line that ends with '\n'.
#pragma once

#include <string>
#include <string_view>

#include "data/reader/row_parser.h"

namespace thalweg {

// The string whose opening quote is at p, which moves behind the closing one. `text` lies in the line, or in
// `scratch` if it has escapes, and is then UTF-8. False: error is set.
bool read_json_string(const char*& p, std::string_view& text, std::string& scratch, RowError& error);

// The end of the number at p; null if there is none.
const char* json_number_end(const char* p);

}  // namespace thalweg
