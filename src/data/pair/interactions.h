// Features of pairs: products of a row's entries, of one part of the row with another, as VW's -q makes them.
// A part is what a format gives names to: a namespace of VW text, a column of CSV, a member of JSON lines, a
// field of libffm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/column/columns.h"
#include "data/reader/row_format.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

// A row with more is a bad one.
inline constexpr std::size_t kMaxPairsOfRow = std::size_t{1} << 16;
// In Batch::fields of an entry that is a product.
inline constexpr std::uint32_t kPairField = std::numeric_limits<std::uint32_t>::max();

struct InteractionItem {
  std::string left, right;  // Both empty: each part with each other one.
};
// Items with commas between: NAME*NAME, or '*'. A name may stand in double quotes, doubled inside. kUsage
// names the item that cannot be read.
Result<std::vector<InteractionItem>> parse_interactions(std::string_view text);

// Which entries of a row are multiplied. Immutable.
class Interactions {
 public:
  // kUsage: the format's entries are in no parts, or a name is none of theirs; `path` is where the columns
  // are.
  static Result<Interactions> find(std::string_view text, const RowFormat& format, const Columns& columns,
                                   const std::string& path);

  // Positions of the two in a row. Of a part with itself: each entry with those behind it, and with itself
  // where its value is not 1, since a category times itself tells nothing new.
  struct Pair {
    std::uint32_t first, second;
  };
  // Of a row's entries; `values` is empty when all are 1. False: more than kMaxPairsOfRow.
  bool pairs_of(std::span<const std::uint32_t> fields, std::span<const float> values,
                std::vector<Pair>& out) const;

 private:
  bool wants_all_ = false;  // Of two parts that differ.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> parts_;
};

// Names in `text` of which no entry among `fields` is, for formats that know their parts' names from rows
// alone.
std::vector<std::string> absent_parts(std::string_view text, const RowFormat& format, const Columns& columns,
                                      std::span<const std::uint32_t> fields);

// Of the product of two entries, whichever is first.
Key pair_key(Key a, Key b);

// How formats whose parts are not numbered before the data has been read number them: by a hash of the name.
std::uint32_t hashed_field(std::string_view name);

}  // namespace thalweg
