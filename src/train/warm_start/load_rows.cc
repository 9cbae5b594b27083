#include "train/warm_start/load_rows.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

#include "base/mix.h"
#include "base/range.h"

namespace thalweg {
namespace {

constexpr std::size_t kLoadsAhead = 16;  // Blocks of a model are a MiB each, and some take part in two loads.

RangeId range_of_row(const TableSpec& spec, std::uint64_t key) {
  if (spec.kind == TableSpec::Kind::kSparse) return range_of(key, spec.ranges);
  std::uint16_t low = 0, high = spec.ranges;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (range_first_row(middle, spec.ranges, spec.rows) <= key ? low : high) = middle;
  }
  return RangeId{low};
}

// Rows of one table on their way to the servers.
class Loading {
 public:
  Loading(ShardStore& store, TableId table, const TableSpec& spec)
      : store_(store), table_(table), spec_(spec) {}

  // One load for each range that the block has rows of.
  void begin(const StoredRows& block) {
    std::vector<std::uint64_t> placed(block.keys.begin(), block.keys.end());
    if (spec_.kind == TableSpec::Kind::kSparse) std::ranges::transform(placed, placed.begin(), place);
    for (std::size_t done = 0; done < placed.size();) {
      const RangeId range = range_of_row(spec_, placed[done]);
      std::size_t end = done + 1;
      while (end < placed.size() && range_of_row(spec_, placed[end]) == range) ++end;
      const auto at = [&](std::size_t i) { return placed.begin() + static_cast<std::ptrdiff_t>(i); };
      open_.push_back(store_.load(table_, range, {at(done), at(end)}, rows_of(block, done, end)));
      done = end;
    }
  }
  // Waits until no more than so many are under way.
  Task<Status> settle(std::size_t left) {
    for (; open_.size() > left; open_.pop_front()) {
      if (Status status = (co_await open_.front()).status; !status.ok()) co_return status;
    }
    co_return ok_status();
  }

 private:
  // Room for a state that is not loaded is left empty.
  Rows rows_of(const StoredRows& block, std::size_t begin, std::size_t end) const {
    const std::size_t width = std::max<std::size_t>(block.width, spec_.dim);
    std::vector<float> rows((end - begin) * width, 0.0f);
    for (std::size_t i = begin; i < end; ++i) {
      const auto row = block.rows.subspan(i * block.width, block.width);
      std::copy(row.begin(), row.end(), rows.begin() + static_cast<std::ptrdiff_t>((i - begin) * width));
    }
    return Rows(std::move(rows));
  }

  ShardStore& store_;
  const TableId table_;
  const TableSpec& spec_;
  std::deque<Pending> open_;
};

}  // namespace

Task<Status> load_rows(ShardStore& store, const ModelReader& model, std::vector<TableSpec> tables,
                       bool with_state) {
  for (std::uint16_t t = 0; t < model.manifest().tables.size(); ++t) {
    Loading loading(store, TableId{t}, tables[t]);
    ModelReader::Cursor cursor = model.rows(t, with_state);
    for (bool more = true; more;) {
      const auto block = cursor.next();
      if (!block) co_return block.status();
      more = !block->keys.empty();
      loading.begin(*block);
      if (Status status = co_await loading.settle(more ? kLoadsAhead : 0); !status.ok()) co_return status;
    }
  }
  co_return ok_status();
}

bool has_initial(const Model& model) {
  const std::size_t tables = model.tables().size();
  for (std::size_t t = 0; t < tables; ++t) {
    if (!model.initial(t).empty()) return true;
  }
  return false;
}

Task<Status> load_initial(ShardStore& store, const Model& model, std::vector<TableSpec> tables) {
  constexpr std::size_t kFloatsAtOnce = std::size_t{1} << 18;
  const std::vector<TableSpec> own = model.tables();
  for (std::uint16_t t = 0; t < own.size(); ++t) {
    const std::size_t dim = own[t].dim;
    const std::span<const float> values = model.initial(t);
    Loading loading(store, TableId{t}, tables[t]);
    std::vector<Key> keys;
    for (std::size_t row = 0; row * dim < values.size(); row += keys.size()) {
      keys.resize(std::min(std::max<std::size_t>(1, kFloatsAtOnce / dim), values.size() / dim - row));
      std::iota(keys.begin(), keys.end(), row);
      loading.begin({keys, values.subspan(row * dim, keys.size() * dim), dim});
      if (Status status = co_await loading.settle(kLoadsAhead); !status.ok()) co_return status;
    }
    if (Status status = co_await loading.settle(0); !status.ok()) co_return status;
  }
  co_return ok_status();
}

}  // namespace thalweg
