// Text through the parser of a format.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "data/reader/row_format.h"

namespace thalweg {

struct Parsed {
  bool ok = true;
  Batch batch;
  RowError error;
  std::ptrdiff_t column = 0;  // Of the error in its line, from 1.
};

inline Parsed parse(std::string_view format, std::string text, ReadOptions options = {}) {
  Parsed parsed;
  Columns columns;
  if (format == "csv") {
    Result<Columns> found = find_columns(text, "t.csv", options);
    EXPECT_TRUE(found.ok()) << found.status().message();
    columns = *found;
    if (columns.header) text.erase(0, text.find('\n') + 1);
  }
  const std::size_t size = text.size();
  text.append(kTextPad, '7');  // Digits: what stands behind the end must not matter.
  const std::unique_ptr<RowParser> parser = (*find_format(format))->parser(options, columns);
  BatchWriter writer;
  writer.attach(parsed.batch, parser->with_fields(), false);
  Cursor cursor{text.data(), text.data() + size, 0};
  parsed.ok = parser->parse(cursor, 1000, writer, parsed.error);
  writer.detach();
  if (!parsed.ok) parsed.column = parsed.error.at - cursor.p + 1;
  return parsed;
}

using ParsedKeys = std::vector<Key>;
using Floats = std::vector<float>;
using Fields = std::vector<std::uint32_t>;

}  // namespace thalweg
