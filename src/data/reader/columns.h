// What the columns of separated text (CSV, TSV) are.
//
// The language of ReadOptions::columns is a comma-separated list of items, one a column in file order:
//   item := [NAME ':'] KIND ['*' [COUNT]]      KIND := label | weight | num | cat | -
// '*' repeats the item for all remaining columns, '*N' for N columns. "user:cat,item:cat,label,-" reads
// MovieLens, "label,num*13,cat*26" Criteo. If the file has a header and every item has a name, items are
// matched by name and the columns that are not listed stay as they were found. A name may stand in double
// quotes, doubled inside, and must if it has a comma.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/read_options.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

struct Column {
  enum class Kind : std::uint8_t { kIgnored, kLabel, kWeight, kNumeric, kCategorical };
  std::string name;
  Kind kind = Kind::kIgnored;
  Key salt = 0;             // Hash of the name; the key of a numeric column.
  std::uint32_t field = 0;  // Number among the numeric and categorical columns.
  // Found categorical though each cell that was looked at means a number: the first that is not written as
  // one, such as $3.50, and its line. Empty: no such column.
  std::string odd_cell = {};
  std::uint64_t odd_line = 0;
};
const char* column_kind_name(Column::Kind kind);

struct Columns {
  std::vector<Column> list;
  char separator = ',';
  bool header = false;                   // The first line of each file names the columns.
  bool guessed = false;                  // The first rows decided what some column is.
  std::string header_line;               // That line, with its '\n'.
  std::vector<std::string> field_order;  // Names of columns by field, where other data decided it.
};

// Finds separator, header and kinds from a file's first lines. `head` ends with '\n'. A column is numeric if
// every cell of the first 100 rows is a number, empty, or a word for a missing value.
Result<Columns> find_columns(std::string_view head, const std::string& path, const ReadOptions& options);

// The same of columns whose names and likely kinds are known, such as a table's in memory.
Result<Columns> settle_columns(Columns columns, const std::string& path, const ReadOptions& options);

Key column_salt(std::string_view name);
// Of a categorical cell of the column with this salt.
Key category_key(std::string_view cell, Key salt);

// The same columns in the language above, each with its name and kind.
std::string columns_text(const Columns& columns);

// kUsage names a column that is another feature here than in the data that a model learnt from, whose columns
// `known` says as columns_text() does. `fields_matter`: so is one whose field has another number.
Status check_same_features(const Columns& columns, const std::string& known, bool fields_matter);

// Files of one data set have the same columns in the same order; kinds are taken from the first file.
Status check_same_columns(const Columns& first, const std::string& first_path, const Columns& other,
                          const std::string& other_path);

// The next cell of the line at p, unquoted; `scratch` holds it, padded like a block, if it had doubled
// quotes. Moves p to the separator or
// '\n' behind it. False: a quote is not closed on this line, or is followed by text.
bool next_cell(const char*& p, char separator, std::string_view& cell, std::string& scratch);

}  // namespace thalweg
