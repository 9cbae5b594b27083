#include "sim/cluster/workload.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/mix.h"
#include "table/table.h"

namespace thalweg::sim {
namespace {

constexpr std::uint64_t kPull = 1, kPush = 2, kValues = 3, kLook = 4, kLoad = 5;
constexpr std::uint32_t kRowsMax = 6;

}  // namespace

Workload::Workload(const Plan& plan) : plan_(plan) {
  before_.resize(plan.tables.size());
  for (std::uint16_t t = 0; t < plan.tables.size(); ++t) {
    before_[t].resize(plan.shards);
    for (std::uint32_t s = 0; s < plan.shards; ++s) {
      std::uint32_t sum = 0;
      for (std::uint32_t e = 0; e < plan.epochs(); ++e) {
        auto& by_index = before_[t][s].emplace_back(1, sum);
        for (std::uint32_t i = 0; i < steps(ShardId{s}, e); ++i) {
          Random chance = random(TableId{t}, ShardId{s}, {e, i}, kPush);
          if (chance.chance(plan.push_chance)) ++sum;
          by_index.push_back(sum);
        }
      }
    }
  }
}

Random Workload::random(TableId table, ShardId shard, Step step, std::uint64_t purpose) const {
  std::uint64_t x = splitmix(plan_.seed ^ 0x5eed);
  for (const std::uint64_t part : {std::uint64_t{table.value}, std::uint64_t{shard.value},
                                   std::uint64_t{step.epoch} << 32 | step.index, purpose}) {
    x = splitmix(x ^ part);
  }
  return Random(x);
}

RowSet Workload::sparse_rows(Random& random, std::span<const Key> always, std::uint32_t count_max) const {
  std::vector<Key> keys(always.begin(), always.end());
  const std::uint64_t more = random.below(count_max + 1);
  keys.reserve(keys.size() + more);
  for (std::uint64_t i = 0; i < more; ++i) {
    const double skewed = std::pow(random.unit(), 1 + plan_.skew);
    keys.push_back(static_cast<Key>(skewed * plan_.keys));
  }
  RowSet set;
  set.keys = Keys::of(keys);
  set.rows.resize(set.keys.size());
  for (std::size_t i = 0; i < set.rows.size(); ++i) set.rows[i] = set.keys.key(i);
  return set;
}

RowSet Workload::dense_rows(Random& random, std::uint64_t first_max, std::uint64_t end_min,
                            std::uint64_t rows) const {
  const std::uint64_t first = random.below(first_max + 1);
  const std::uint64_t end = end_min + random.below(rows - end_min + 1);
  RowSet set;
  set.keys = Keys::block(first, end - first);
  set.rows.resize(end - first);
  std::iota(set.rows.begin(), set.rows.end(), first);
  return set;
}

std::optional<RowSet> Workload::pulled(TableId table, ShardId shard, Step step) const {
  if (!whole(table)) return pushed(table, shard, step);
  Random chance = random(table, shard, step, kPull);
  if (!chance.chance(plan_.pull_chance)) return std::nullopt;
  const TableSpec& spec = plan_.tables[table.value];
  if (spec.kind == TableSpec::Kind::kDense) {
    const std::uint64_t first_max = chance.below(spec.rows);
    return dense_rows(chance, first_max, first_max + 1, spec.rows);
  }
  std::vector<Key> counters;
  for (std::uint32_t s = 0; s < plan_.shards; ++s) {
    if (chance.chance(0.7)) counters.push_back(kCounters + s);
  }
  return sparse_rows(chance, counters, kRowsMax);
}

std::optional<RowSet> Workload::pushed(TableId table, ShardId shard, Step step) const {
  Random chance = random(table, shard, step, kPush);
  if (!chance.chance(plan_.push_chance)) return std::nullopt;
  const TableSpec& spec = plan_.tables[table.value];
  if (spec.kind == TableSpec::Kind::kDense)
    return dense_rows(chance, shard.value, shard.value + 1, spec.rows);
  const Key own = kCounters + shard.value;
  return sparse_rows(chance, {&own, 1}, kRowsMax);
}

std::vector<float> Workload::gradients(TableId table, ShardId shard, Step step, const RowSet& rows,
                                       std::span<const float> read) const {
  const std::size_t dim = plan_.tables[table.value].dim;
  Random values = random(table, shard, step, kValues);
  std::vector<float> grads(rows.rows.size() * dim);
  // Every gradient depends on every row read, wherever it lives.
  float sum = 0;
  if (!whole(table)) sum = std::accumulate(read.begin(), read.end(), 0.0f);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (!whole(table)) {
      grads[i] = 0.5f * read[i] + std::sin(sum) * 0.2f + static_cast<float>(values.unit()) - 0.5f;
      continue;
    }
    const auto counter = counter_of(table, rows.rows[i / dim]);
    const auto drawn = static_cast<float>(static_cast<std::int64_t>(values.below(9)) - 4);
    grads[i] = !counter ? drawn : *counter == shard ? 1.0f : 0.0f;
  }
  return grads;
}

RowSet Workload::looked_at(TableId table, ShardId shard, std::uint32_t epoch) const {
  Random chance = random(table, shard, {epoch, 0}, kLook);
  const TableSpec& spec = plan_.tables[table.value];
  if (spec.kind == TableSpec::Kind::kDense) return dense_rows(chance, 0, plan_.shards, spec.rows);
  std::vector<Key> counters(plan_.shards);
  std::iota(counters.begin(), counters.end(), kCounters);
  return sparse_rows(chance, counters, kRowsMax);
}

RowsToLoad Workload::loaded(TableId table, RangeId range) const {
  RowsToLoad rows;
  if (!plan_.loads) return rows;
  Random chance = random(table, {}, {range.value, 0}, kLoad);
  const TableSpec& spec = plan_.tables[table.value];
  if (spec.kind == TableSpec::Kind::kDense) {
    const std::uint64_t first = range_first_row(range.value, spec.ranges, spec.rows);
    const std::uint64_t end = range_first_row(range.value + 1u, spec.ranges, spec.rows);
    for (std::uint64_t row = std::max<std::uint64_t>(first, plan_.shards); row < end; ++row)
      if (chance.chance(0.7)) rows.keys.push_back(row);
  } else {
    for (Key key = 0; key < plan_.keys + 2u; ++key)
      if (range_of(place(key), spec.ranges) == range && chance.chance(0.7)) rows.keys.push_back(place(key));
    std::sort(rows.keys.begin(), rows.keys.end());
  }
  std::size_t width = spec.dim;
  if (!whole(table) && chance.chance(0.5)) {
    const auto made = make_table(spec, {});
    THALWEG_CHECK(made.ok(), "a table of the plan can be made");
    width = (*made)->stored_width();
  }
  for (std::size_t i = 0; i < rows.keys.size() * width; ++i) {
    const auto drawn = static_cast<float>(chance.below(9));
    rows.values.push_back(whole(table) ? drawn - 4 : drawn / 8);
  }
  return rows;
}

std::uint32_t Workload::pushes_before(TableId table, ShardId shard, Step step) const {
  const auto& by_epoch = before_[table.value][shard.value];
  if (step.epoch >= by_epoch.size()) return by_epoch.back().back();
  const auto& by_index = by_epoch[step.epoch];
  return by_index[std::min<std::size_t>(step.index, by_index.size() - 1)];
}

std::optional<ShardId> Workload::counter_of(TableId table, Key row) const {
  const Key first = plan_.tables[table.value].kind == TableSpec::Kind::kDense ? 0 : kCounters;
  if (row < first || row >= first + plan_.shards) return std::nullopt;
  return ShardId{static_cast<std::uint32_t>(row - first)};
}

const std::map<Key, std::vector<float>>& Workload::oracle(TableId table, std::uint32_t epoch) const {
  const auto known = oracles_.find({table, epoch});
  if (known != oracles_.end()) return known->second;
  std::map<Key, std::vector<float>> sums;
  const TableSpec& spec = plan_.tables[table.value];
  const std::size_t dim = spec.dim;
  if (epoch > 0) sums = oracle(table, epoch - 1);
  for (std::uint16_t r = 0; epoch == 0 && r < spec.ranges; ++r) {
    const RowsToLoad rows = loaded(table, RangeId{r});
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      const Key key = spec.kind == TableSpec::Kind::kDense ? rows.keys[i] : unplace(rows.keys[i]);
      const float* const row = rows.values.data() + i * dim;
      sums[key].assign(row, row + dim);
    }
  }
  for (std::uint32_t s = 0; s < plan_.shards; ++s) {
    for (std::uint32_t i = 0; i < steps(ShardId{s}, epoch); ++i) {
      const auto rows = pushed(table, ShardId{s}, {epoch, i});
      if (!rows) continue;
      const auto grads = gradients(table, ShardId{s}, {epoch, i}, *rows, {});
      for (std::size_t r = 0; r < rows->rows.size(); ++r) {
        auto& sum = sums.try_emplace(rows->rows[r], dim, 0.0f).first->second;
        for (std::size_t c = 0; c < dim; ++c) sum[c] += grads[r * dim + c];
      }
    }
  }
  return oracles_[{table, epoch}] = std::move(sums);
}

}  // namespace thalweg::sim
