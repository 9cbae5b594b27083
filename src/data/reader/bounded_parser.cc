#include "data/reader/bounded_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/reader/batch_writer.h"

namespace thalweg {
namespace {

class BoundedParser final : public RowParser {
 public:
  BoundedParser(std::unique_ptr<RowParser> inner, Key below) : inner_(std::move(inner)), below_(below) {}

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
    const auto keys = out.row_keys();
    const auto largest = std::max_element(keys.begin(), keys.end());
    if (largest == keys.end() || *largest < below_) {
      out.end_row(row.label, row.weight);
      return true;
    }
    error = {};
    error.saw = fmt::format("feature {}", *largest);
    error.expected = fmt::format("features 0 to {}, as the model has", below_ - 1);
    out.abandon_row();
    --cursor.p;  // Its '\n'.
    while (cursor.p > begin && cursor.p[-1] != '\n') --cursor.p;
    error.at = cursor.p;
    return false;
  }

  const std::unique_ptr<RowParser> inner_;
  const Key below_;
};

}  // namespace

std::unique_ptr<RowParser> bounded_parser(std::unique_ptr<RowParser> inner, Key below) {
  return std::make_unique<BoundedParser>(std::move(inner), below);
}

}  // namespace thalweg
