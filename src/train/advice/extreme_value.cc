#include "train/advice/extreme_value.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace thalweg {
namespace {

constexpr std::uint64_t kRowsLookedAt = std::uint64_t{1} << 21;

std::string name_of(const DataSet& data, const Batch& batch, std::size_t entry) {
  const Key key = batch.keys[entry];
  if (data.format().columns) {
    for (const Column& c : data.columns().list) {
      if (c.kind == Column::Kind::kNumeric && c.field == batch.fields[entry]) {
        return fmt::format("column \"{}\"", c.name);
      }
    }
  }
  if (data.options().hash_bits != 0) return fmt::format("a feature that is hashed to {}", key);
  if (batch.fields.empty()) return fmt::format("feature {}", key);
  return fmt::format("feature {} in field {}", key, batch.fields[entry]);
}

// Takes what a batch of one row has that is larger than anything before; false: nothing.
bool take_larger(const DataSet& data, const Batch& batch, ExtremeValue& most) {
  bool larger = false;
  const bool free_label = !data.options().binary_labels && data.options().classes == 0;
  if (free_label && std::abs(batch.labels[0]) > std::abs(most.value)) {
    most = {batch.labels[0], true, "the label", {}};
    larger = true;
  }
  for (std::size_t e = 0; e < batch.values.size(); ++e) {
    if (std::abs(batch.values[e]) <= std::abs(most.value)) continue;
    most = {batch.values[e], false, name_of(data, batch, e), {}};
    larger = true;
  }
  return larger;
}

}  // namespace

std::optional<ExtremeValue> find_extreme_value(const DataSet& data) {
  if (!data.seekable()) return std::nullopt;
  ReadOptions options = data.options();
  options.max_bad_rows = std::numeric_limits<std::uint64_t>::max();
  const auto again = DataSet::open(std::move(options));
  if (!again) return std::nullopt;
  auto reader = (*again)->reader(ShardId{0}, 1);
  if (!reader) return std::nullopt;
  Batch batch;
  ExtremeValue most;
  std::uint64_t its_row = 0;  // From 1.
  for (std::uint64_t row = 1; row <= kRowsLookedAt; ++row) {
    const auto rows = (*reader)->next(1, batch);
    if (!rows || *rows == 0) break;
    if (take_larger(**again, batch, most)) its_row = row;
  }
  if (its_row == 0) return std::nullopt;
  reader = (*again)->reader(ShardId{0}, 1);  // Finding a row's line takes long, so it is done for one.
  for (std::uint64_t row = 1; reader && row <= its_row; ++row) {
    const auto rows = (*reader)->next(1, batch);
    if (!rows || *rows == 0) return std::nullopt;
  }
  if (!reader) return std::nullopt;
  most.where = (*reader)->place_of_last_row();
  return most;
}

}  // namespace thalweg
