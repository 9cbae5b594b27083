#include "data/reader/bounded_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "data/reader/batch_writer.h"

namespace thalweg {
namespace {

class BoundedParser final : public RowParser {
 public:
  BoundedParser(std::unique_ptr<RowParser> inner, const RowBounds& bounds)
      : inner_(std::move(inner)),
        bounds_(bounds),
        of_fields_(bounds.fields_below != 0 && inner_->with_fields()) {}

  bool with_fields() const override { return inner_->with_fields(); }

  bool parse(Cursor& cursor, std::size_t max_rows, BatchWriter& out, RowError& error) override {
    while (out.rows() < max_rows) {
      const char* const begin = cursor.p;
      const std::size_t before = out.rows();
      if (!inner_->parse(cursor, before + 1, out, error)) return false;
      if (out.rows() == before) return true;
      if (check_row(begin, cursor, out, error)) continue;
      return false;
    }
    return true;
  }

 private:
  // The row that has just been parsed, in [begin, cursor.p).
  bool check_row(const char* begin, Cursor& cursor, BatchWriter& out, RowError& error) const {
    const BatchWriter::LastRow row = out.reopen_row();
    error = {};
    check_entries(out.row_keys(), error);
    if (of_fields_ && error.expected.empty()) check_fields(out.row_fields(), error);
    if (error.expected.empty()) {
      out.end_row(row.label, row.weight);
      return true;
    }
    out.abandon_row();
    --cursor.p;  // Its '\n'.
    while (cursor.p > begin && cursor.p[-1] != '\n') --cursor.p;
    error.at = cursor.p;
    return false;
  }

  void check_entries(std::span<const Key> keys, RowError& error) const {
    if (bounds_.entries_most != 0 && keys.size() > bounds_.entries_most) {
      error.saw = fmt::format("{} entries", keys.size());
      error.expected =
          fmt::format("at most {}, as many places as the model has fields", bounds_.entries_most);
      return;
    }
    if (bounds_.keys_below == 0) return;
    const auto largest = std::max_element(keys.begin(), keys.end());
    if (largest == keys.end() || *largest < bounds_.keys_below) return;
    error.saw = fmt::format("feature {}", *largest);
    error.expected = fmt::format("features 0 to {}, as the model has", bounds_.keys_below - 1);
  }

  void check_fields(std::span<const std::uint32_t> fields, RowError& error) const {
    const auto largest = std::max_element(fields.begin(), fields.end());
    if (largest == fields.end() || *largest < bounds_.fields_below) return;
    error.saw = fmt::format("field {}", *largest);
    error.expected = fmt::format("fields 0 to {}, as the model has", bounds_.fields_below - 1);
  }

  const std::unique_ptr<RowParser> inner_;
  const RowBounds bounds_;
  const bool of_fields_;
};

}  // namespace

std::unique_ptr<RowParser> bounded_parser(std::unique_ptr<RowParser> inner, const RowBounds& bounds) {
  return std::make_unique<BoundedParser>(std::move(inner), bounds);
}

}  // namespace thalweg
