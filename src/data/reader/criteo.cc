// Criteo's click logs (Kaggle Display Advertising Challenge): label, 13 integers, 26 categories as strings,
// tabs between, any but the label may be empty. Each cell becomes one entry of value 1 whose key is the hash
// of its token with its field number (0..38) mixed in. The token of an integer v: nothing if empty, v itself
// up to 2, else floor(ln(v)^2), as in the winning solution of the challenge (Juan, Zhuang, Chin: "3 idiots'
// approach", 2014). Where labels are not needed theirs may be empty, or the whole column may be missing, as
// in the challenge's own test file.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/column/number_form.h"
#include "data/reader/row_format.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kIntegers = 13;
constexpr std::uint32_t kCells = 39;

class CriteoParser final : public LineParser<CriteoParser> {
 public:
  explicit CriteoParser(const ReadOptions& options)
      : LineParser(options), labels_needed_(options.labels_needed) {
    for (std::size_t v = 3; v < small_.size(); ++v) small_[v] = log_bucket(static_cast<double>(v));
  }

  bool with_fields() const override { return true; }

  const char* parse_row(const char* p, const char* end, BatchWriter& out, RowError& error) const {
    float label = 0.0f;
    const bool has_label = labels_needed_ || std::count(p, line_end(p, end), '\t') != kCells - 1;
    const bool is_empty = !labels_needed_ && *p == '\t';
    if (has_label && !is_empty && !parse_label(p, end, rules_, '\t', label, error)) return nullptr;
    for (std::uint32_t field = 0; field < kCells; ++field) {
      if (has_label || field > 0) {
        if (*p != '\t') return fail(error, p, "a tab (label, 13 integers, 26 categories)"), nullptr;
        ++p;
      }
      const char* cell = p;
      while (*p != '\t' && *p != '\n') ++p;
      const char* cell_end = *p == '\n' && p > cell && p[-1] == '\r' ? p - 1 : p;
      Key key = 0;
      if (field < kIntegers && cell != cell_end) {
        std::int64_t v = 0;
        if (parse_signed(cell, v) != cell_end) return fail(error, cell, "an integer or nothing"), nullptr;
        key = integer_key(v, field);
      } else {
        key = XXH3_64bits_withSeed(cell, static_cast<std::size_t>(cell_end - cell), field);
      }
      if (!out.add(rules_.key(std::min(key, kReservedKey - 1)), field)) {
        return fail(error, cell, "at most 2^28 entries in a batch"), nullptr;
      }
    }
    if (*p != '\n') return fail(error, p, "the line's end after 40 columns"), nullptr;
    out.end_row(label, 1.0f);
    return p + 1;
  }

 private:
  // Small values and buckets are told apart by the lowest bit.
  Key integer_key(std::int64_t v, std::uint32_t field) const {
    const bool exact = v <= 2;
    const std::int64_t bucket =
        exact ? v
              : (v < static_cast<std::int64_t>(small_.size()) ? small_[static_cast<std::size_t>(v)]
                                                              : log_bucket(static_cast<double>(v)));
    const std::uint64_t token = static_cast<std::uint64_t>(bucket) * 2 + (exact ? 0 : 1);
    return XXH3_64bits_withSeed(&token, sizeof token, field);
  }

  bool labels_needed_;
  std::array<std::int64_t, 1024> small_{};
};

Likeness like_criteo(const LineLook& look) {
  const bool whole = look.tabs == kCells, bare = look.tabs == kCells - 1 && !look.labels_needed;
  return whole || bare ? Likeness::kSure : Likeness::kNone;
}

// "I1" to "I13", "C1" to "C26".
std::optional<std::uint32_t> field_of_criteo_cell(std::string_view name, const Columns&) {
  for (std::uint32_t field = 0; field < kCells; ++field) {
    const bool integer = field < kIntegers;
    if (name == fmt::format("{}{}", integer ? 'I' : 'C', field + 1 - (integer ? 0 : kIntegers))) return field;
  }
  return std::nullopt;
}

std::unique_ptr<RowParser> make_criteo_parser(const ReadOptions& options, const Columns&) {
  return std::make_unique<CriteoParser>(options);
}

}  // namespace

extern constinit const RowFormat kCriteoFormat = {
    .name = "criteo",
    .title = "Criteo",
    .ending = "tsv",
    .ids = "click logs",
    .likeness = like_criteo,
    .parser = make_criteo_parser,
    .names = name_criteo_cells,
    .field_named = field_of_criteo_cell,
    .fields = [](const Columns&) { return kCells; },
};

}  // namespace thalweg
