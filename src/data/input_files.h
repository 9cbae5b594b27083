// The files that a data set is made of: named, opened once, looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/byte_stream.h"
#include "data/column/cell_order.h"
#include "data/read_options.h"
#include "thalweg/status.h"

namespace thalweg {

struct InputFile {
  std::string path;       // As shown in messages.
  bool seekable = false;  // It can be read again.
  Packing packing = Packing::kPlain;
  std::uint64_t size_bytes = 0;        // Of the packed file; 0 if it is not seekable.
  std::string head;                    // The unpacked text's begin; see open_input_files().
  bool head_is_all = false;            // The head is the whole text.
  std::unique_ptr<ByteStream> unread;  // Not seekable: the stream behind the head.

  TextWindows text;  // As it is read.
  SourceCommand command;
  CellOrder order;  // Of its columns.

  // Its bytes are rows as they lie there.
  bool plain() const { return seekable && packing == Packing::kPlain && order.places.empty(); }
  // The whole lines of the head, the last one closed if it is the text's end or the only one.
  std::string head_lines() const;
};

struct InputFiles {
  std::vector<InputFile> full;
  std::vector<std::string> empty;  // Jobs that write many parts leave some without rows.
};

// `text`, `command`: how all of them are read. Names to files: a glob's in sorted order, the others as given.
// `look` says what a file that is not empty has instead of rows, such as "has a header and no rows", or
// nothing, and may set its order. `as_it_comes`: no more of a pipe is waited for than a line that may be a
// row. Missing and unreadable files, directories and text with NUL bytes are errors, so is what `look`
// refuses, and if no file has rows. Heads are of kHeadBytes, and of wide rows as many more as hold kHeadRows,
// up to kMaxLineBytes; afterwards only pipes keep them.
Result<InputFiles> open_input_files(const std::vector<std::string>& paths, const TextWindows& text,
                                    const SourceCommand& command, bool as_it_comes,
                                    const std::function<Result<std::string>(InputFile&)>& look);

}  // namespace thalweg
