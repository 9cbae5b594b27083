// Any file of bytes as rows for a model of text: windows of some bytes and the byte behind each.
#pragma once

#include <memory>
#include <string>

#include "data/byte_stream.h"
#include "data/read_options.h"
#include "thalweg/status.h"

namespace thalweg {

// The rows of the file at `path`: its own, or with a context its text's, "10 0:84 1:111 2:58". There the
// features are the places and bytes of a window, the label is the byte behind it, with which the next window
// begins, and what is left at the end is passed over. Neighbours in the text stand far from each other, in an
// order that depends on the number of windows alone. `commands`: see open_byte_stream(). Errors: kIo, kData
// naming the file and what was expected.
Result<std::unique_ptr<ByteStream>> open_rows(const std::string& path, const TextWindows& text,
                                              CommandsAhead* commands = nullptr);

}  // namespace thalweg
