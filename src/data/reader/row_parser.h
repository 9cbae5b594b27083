// From lines to rows: what every text format's parser offers.
#pragma once

#include <cstdint>
#include <string>

#include "data/reader/batch_writer.h"

namespace thalweg {

// Where parsing stands in a block of whole lines.
struct Cursor {
  const char* p = nullptr;
  const char* end = nullptr;
  std::uint64_t row = 0;  // Rows of all files before p; kept only if rows are held out.
};

// A bad row: the place in its line and what should stand there.
struct RowError {
  const char* at = nullptr;
  const char* end = nullptr;  // Of what stands there; null: of the line, or a blank.
  std::string expected;
  std::string saw;  // What stands there, where it is no text; empty: see `at`.
};

// One per reader: a parser has scratch space.
class RowParser {
 public:
  virtual ~RowParser() = default;
  // Appends rows until `out` has max_rows, the text ends (true) or a row is bad (false: cursor at that row's
  // begin).
  virtual bool parse(Cursor& cursor, std::size_t max_rows, BatchWriter& out, RowError& error) = 0;
  virtual bool with_fields() const = 0;
};

}  // namespace thalweg
