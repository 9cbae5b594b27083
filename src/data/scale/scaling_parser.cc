#include "data/scale/scaling_parser.h"

#include <span>
#include <utility>

#include "base/check.h"
#include "data/scale/value_scales.h"

namespace thalweg {
namespace {

class ScalingParser final : public RowParser {
 public:
  ScalingParser(std::unique_ptr<RowParser> inner, ValueScales scales)
      : inner_(std::move(inner)), scales_(std::move(scales)) {}

  bool with_fields() const override { return inner_->with_fields(); }

  bool parse(Cursor& cursor, std::size_t max_rows, BatchWriter& out, RowError& error) override {
    const std::size_t first = out.entries();
    const bool good = inner_->parse(cursor, max_rows, out, error);
    const std::span<const Key> keys = out.keys_from(first);
    const std::span<float> values = out.values_from(first);
    for (std::size_t e = 0; e < values.size(); ++e) values[e] = scales_.scaled(keys[e], values[e]);
    return good;
  }

 private:
  const std::unique_ptr<RowParser> inner_;
  const ValueScales scales_;
};

}  // namespace

std::unique_ptr<RowParser> entry_parser(const ReadOptions& options, const RowFormat& format,
                                        const Columns& columns) {
  std::unique_ptr<RowParser> parser = format.parser(options, columns);
  if (options.value_scales.empty()) return parser;
  Result<ValueScales> scales = ValueScales::parse(options.value_scales);
  THALWEG_CHECK(scales.ok(), "scales were looked at before");
  return std::make_unique<ScalingParser>(std::move(parser), *std::move(scales));
}

}  // namespace thalweg
