// Any bytes as a file's text: detection, columns and every parser give rows or an error, and never crash.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "data/reader/detect.h"
#include "data/reader/row_parser.h"

namespace {

using namespace thalweg;  // NOLINT: a program of one file.

void check_batch(const Batch& batch, bool with_fields) {
  THALWEG_CHECK(batch.row_begin.size() == batch.rows() + 1, "one offset a row and one more");
  THALWEG_CHECK(batch.row_begin.back() == batch.entries(), "the last offset is the number of entries");
  THALWEG_CHECK(batch.values.empty() || batch.values.size() == batch.entries(), "one value an entry or none");
  THALWEG_CHECK(batch.weights.empty() || batch.weights.size() == batch.rows(), "one weight a row or none");
  THALWEG_CHECK(batch.fields.size() == (with_fields ? batch.entries() : 0), "one field an entry or none");
  for (const Key key : batch.keys) THALWEG_CHECK(key != kReservedKey, "the reserved key is refused");
}

void parse_all(const RowFormat& format, const ReadOptions& options, const Columns& columns,
               const std::string& padded, std::size_t size) {
  const std::unique_ptr<RowParser> parser = format.parser(options, columns);
  Cursor cursor{padded.data(), padded.data() + size, 0};
  Batch batch;
  BatchWriter writer;
  RowError error;
  while (cursor.p != cursor.end) {
    writer.attach(batch, parser->with_fields(), false);
    const bool good = parser->parse(cursor, 3, writer, error);
    writer.detach();
    check_batch(batch, parser->with_fields());
    if (good) continue;
    const char* end = cursor.p;
    while (*end != '\n') ++end;
    THALWEG_CHECK(error.at >= cursor.p && error.at <= end, "the error lies in its line");
    shown(error.at, end);
    cursor.p = end + 1;
  }
}

}  // namespace

// The first byte chooses options; the rest is the text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t choice = data[0];
  std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (text.empty() || text.back() != '\n') text += '\n';
  ReadOptions options;
  options.hash_bits = (choice & 1) != 0 ? 20 : 0;
  options.binary_labels = (choice & 2) != 0;
  if ((choice & 4) != 0) {
    options.part = (choice & 8) != 0 ? Part::kTrain : Part::kHeldOut;
    options.part_modulus = 2;
  }
  if ((choice & 16) != 0) options.columns = "label,num,cat*";
  const Result<const RowFormat*> found = detect_format(text, "fuzz");
  const Result<Columns> columns = find_columns(text, "fuzz", options);
  // A string's buffer has its exact size under the sanitizer only if it is copied.
  std::string padded = text + std::string(kTextPad, '1');
  padded.shrink_to_fit();
  if (found && !(*found)->columns) parse_all(**found, options, Columns(), padded, text.size());
  for (const RowFormat* format : row_formats()) {
    if (!format->columns) parse_all(*format, options, Columns(), padded, text.size());
    if (format->columns && columns) parse_all(*format, options, *columns, padded, text.size());
  }
  return 0;
}
