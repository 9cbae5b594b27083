// What the columns of separated text (CSV, TSV) are.
//
// The language of ReadOptions::columns is a comma-separated list of items, one a column in file order:
//   item := [NAME ':'] KIND ['*' [COUNT]]      KIND := label | weight | NUMBER | cat | -
//   NUMBER := num [':' (raw | log | bucket)] [['-' OFFSET] '/' (SCALE | '?')]
// '/?' is NumberForm::open.
// '*' repeats the item for all remaining columns, '*N' for N columns. "user:cat,item:cat,label,-" reads
// MovieLens, "label,num*13,cat*26" Criteo. If the file has a header and every item has a name, items are
// matched by name and the columns that are not listed stay as they were found. A NAME with '*' stands for all
// that match but label and weight, FIRST..LAST for all from one to the other; a column's own name goes before
// a range, and a range before a pattern. A name may stand in double quotes, doubled inside, and must if it
// has a comma, or a '*' or ".." of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/read_options.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

// What becomes of a numeric column's number v.
struct NumberForm {
  enum class Shape : std::uint8_t {
    kLinear,
    kLog,    // sign(v) ln(1 + |v|)
    kBucket  // A category: v itself up to 2, above it floor(ln(v)^2); so is a missing number.
  };
  Shape shape = Shape::kLinear;
  double offset = 0;  // Subtracted from v, which is read with all its digits for that.
  float scale = 0;    // Divided by, and no more than kLargestScaled times it counts. 0: v as it stands.
  // No number but 0 has been met that a scale could be chosen by: until then v is read as by kLog over 1.
  bool open = false;
  bool operator==(const NumberForm&) const = default;
};
inline constexpr float kLargestScaled = 10;

// What the rows that were looked at have in a column.
struct ColumnFacts {
  std::uint64_t rows = 0, missing = 0, distinct = 0;
  bool numbers = false;  // `smallest` and `largest` are known.
  double smallest = 0, largest = 0;
  std::string why;  // What decided its kind, if these rows did.
};

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
  NumberForm number = {};
  bool kind_told = false, number_told = false;  // By options, or by the data that a model learnt from.
  ColumnFacts facts = {};
};
const char* column_kind_name(Column::Kind kind);
// As an item says it: "num:log/3.5".
std::string column_kind_text(const Column& column);

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

inline bool is_feature(Column::Kind kind) {
  return kind == Column::Kind::kNumeric || kind == Column::Kind::kCategorical;
}
inline bool is_feature(const Column& column) { return is_feature(column.kind); }

// Gives the numeric and categorical ones their fields.
void number_columns(Columns& columns);
// The same of columns whose names and likely kinds are known, such as a table's in memory.
Result<Columns> settle_columns(Columns columns, const std::string& path, const ReadOptions& options);

Key column_salt(std::string_view name);
// What a categorical cell says: of 34.0 it is 34, as one missing cell has pandas write a column of whole
// numbers.
std::string_view category_text(std::string_view cell);
// Of a categorical cell of the column with this salt.
Key category_key(std::string_view cell, Key salt);

// Of the numeric or categorical column of that name.
std::optional<std::uint32_t> field_of_column(std::string_view name, const Columns& columns);
// How many fields those columns have.
std::uint32_t fields_of_columns(const Columns& columns);

// The same columns in the language above, each with its name and kind.
std::string columns_text(const Columns& columns);

// kUsage names a column that is another feature here than in the data that a model learnt from, whose columns
// `known` says as columns_text() does. `fields_matter`: so is one whose field has another number.
Status check_same_features(const Columns& columns, const std::string& known, bool fields_matter);

// Files of one data set have the same columns, and without headers of the same names in the same order; kinds
// are taken from the first file.
Status check_same_columns(const Columns& first, const std::string& first_path, const Columns& other,
                          const std::string& other_path);

// The next cell of the line at p, unquoted; `scratch` holds it, padded like a block, if it had doubled
// quotes. Moves p to the separator or
// '\n' behind it. False: a quote is not closed on this line, or is followed by text.
bool next_cell(const char*& p, char separator, std::string_view& cell, std::string& scratch);

}  // namespace thalweg
