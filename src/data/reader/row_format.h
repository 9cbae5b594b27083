// A format of rows as text: what it is called, how its lines look, and who parses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/column/columns.h"
#include "data/read_options.h"
#include "data/reader/entry_names.h"
#include "data/reader/row_parser.h"
#include "thalweg/status.h"

namespace thalweg {

// A line that holds a row, and what was counted in it.
struct LineLook {
  std::string_view line;      // Without its '\n'.
  bool labels_needed = true;  // As ReadOptions has it.
  bool entries_only = true;   // Numbers between blanks, with colons in them or none: 1 3:0.5 7.
  int colons_least = 2;       // In an entry behind the label; more than colons_most where there is none.
  int colons_most = -1;
  std::ptrdiff_t tabs = 0;
};

// How well a line suits a format. Of those that claim it best the first in the list has it.
enum class Likeness : std::uint8_t {
  kNone,
  kFaint,   // Counts only where no other line was claimed for more.
  kLikely,  // If no format is sure.
  kSure
};

// One a file in this folder; what a format of an application's own is as well, see ReadOptions::formats.
struct RowFormat {
  std::string_view name;    // As --format says it.
  std::string_view title;   // As people write it.
  std::string_view ending;  // Of files in it.
  std::string_view ids;     // Formats of one word here give a feature the same key.
  bool comments = false;    // '#' begins one.
  bool members = false;     // Of a row have names, by which options name label and weight.
  bool columns = false;     // Separated cells: its parser needs to know the columns.
  Likeness (*likeness)(const LineLook& look) = nullptr;  // Null: it must be asked for by name.
  // Called once a reader. `columns` is empty unless the format has columns.
  std::unique_ptr<RowParser> (*parser)(const ReadOptions& options, const Columns& columns) = nullptr;
  EntryNames names = nullptr;  // Null: entries are called by their keys.
  // The field of entries of the row's part that is called so; nothing: there is none. Null: rows have no
  // parts, so that no pairs of these can be asked for.
  std::optional<std::uint32_t> (*field_named)(std::string_view name, const Columns& columns) = nullptr;
  // How many fields rows have. Null: only the rows tell, or they have none.
  std::uint32_t (*fields)(const Columns& columns) = nullptr;
};
using RowFormats = std::vector<const RowFormat*>;

// The built-in ones, in the order in which they claim a line, then `more`.
RowFormats row_formats(const RowFormats& more = {});
// Null: "auto". kUsage names those that there are, or says that two are called so.
Result<const RowFormat*> find_format(std::string_view name, const RowFormats& more = {});

}  // namespace thalweg
