#include "data/pair/pairing_parser.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "data/pair/interactions.h"
#include "data/reader/entry_errors.h"
#include "data/reader/row_loop.h"
#include "data/scale/scaling_parser.h"

namespace thalweg {
namespace {

// Pairs are of keys as they stand, so that hashing to few bits makes no two of them one before it must.
class PairingParser final : public RowParser {
 public:
  PairingParser(std::unique_ptr<RowParser> inner, const ReadOptions& options, Interactions interactions)
      : inner_(std::move(inner)), rules_(options), interactions_(std::move(interactions)) {}

  bool with_fields() const override { return true; }

  bool parse(Cursor& cursor, std::size_t max_rows, BatchWriter& out, RowError& error) override {
    while (cursor.p != cursor.end && out.rows() < max_rows) {
      const char* const from = cursor.p;
      const std::size_t before = out.rows();
      if (!inner_->parse(cursor, before + 1, out, error)) return false;
      if (out.rows() == before) return true;  // Lines without a row were left.
      if (append_pairs(out, error)) continue;
      const char* begin = cursor.p - 1;  // The row's '\n'.
      while (begin > from && begin[-1] != '\n') --begin;
      error.at = cursor.p = begin;
      return false;
    }
    return true;
  }

 private:
  // To the newest row.
  bool append_pairs(BatchWriter& out, RowError& error) {
    const BatchWriter::LastRow row = out.reopen_row();
    const std::size_t count = row.entries;
    if (!interactions_.pairs_of(out.row_fields(), out.row_values(), pairs_)) {
      error.expected = fmt::format("at most {} pairs of features in a row", kMaxPairsOfRow);
      return out.abandon_row(), false;
    }
    for (const auto& [first, second] : pairs_) {
      const std::span<const float> values = out.row_values();
      const float value = values.empty() ? 1.0f : values[first] * values[second];
      if (value == 0.0f) continue;
      const Key key = pair_key(out.row_keys()[first], out.row_keys()[second]);
      const bool finite = std::isfinite(value);
      if (finite && out.add_value(rules_.key(key), value, kPairField)) continue;
      error.expected = finite ? kFullExpected : "products of features that are finite numbers";
      return out.abandon_row(), false;
    }
    for (Key& key : out.row_keys().first(count)) key = rules_.key(key);
    out.end_row(row.label, row.weight);
    return true;
  }

  const std::unique_ptr<RowParser> inner_;
  const RowRules rules_;
  const Interactions interactions_;
  std::vector<Interactions::Pair> pairs_;
};

}  // namespace

Status check_interactions(const ReadOptions& options, const RowFormat& format, const Columns& columns,
                          const std::string& path) {
  if (options.interactions.empty()) return ok_status();
  return Interactions::find(options.interactions, format, columns, path).status();
}

std::unique_ptr<RowParser> row_parser(const ReadOptions& options, const RowFormat& format,
                                      const Columns& columns) {
  if (options.interactions.empty()) return entry_parser(options, format, columns);
  auto interactions = Interactions::find(options.interactions, format, columns, {});
  THALWEG_CHECK(interactions.ok(), "interactions were looked at before");
  ReadOptions plain = options;
  plain.hash_bits = 0;
  return std::make_unique<PairingParser>(entry_parser(plain, format, columns), options,
                                         *std::move(interactions));
}

}  // namespace thalweg
