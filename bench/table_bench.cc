// The sparse table beside absl::flat_hash_map and std::unordered_map, one thread: random u64 keys, all
// present, batches of 4096; pull copies a row out, push finds it and applies the update rule. Each round
// measures every contender once, in turn; figures are medians over the rounds with their least and greatest.
//   table_bench [MILLION_KEYS [ROUNDS]]      default 10 and 9
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "table/table.h"
#include "table/update_rule.h"

namespace thalweg {
namespace {

constexpr std::size_t kBatch = 4096;
constexpr std::size_t kBatches = 256;
constexpr std::size_t kDim = 16;
constexpr std::size_t kAhead = 16;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Workload {
  std::vector<Key> keys;                       // All stored keys.
  std::vector<std::vector<Key>> batches;       // In random order.
  std::vector<std::vector<PlacedKey>> sorted;  // The same, placed and ascending, without repeats.
  std::vector<float> grads;
};

std::vector<PlacedKey> place_sorted(const std::vector<Key>& keys) {
  std::vector<PlacedKey> placed(keys.size());
  std::transform(keys.begin(), keys.end(), placed.begin(), place);
  std::sort(placed.begin(), placed.end());
  placed.erase(std::unique(placed.begin(), placed.end()), placed.end());
  return placed;
}

Workload make_workload(std::size_t count) {
  Workload load;
  Random random(1);
  while (load.keys.size() < count) load.keys.push_back(random.next() & ~Key{1});
  for (std::size_t b = 0; b < kBatches; ++b) {
    std::vector<Key>& batch = load.batches.emplace_back();
    while (batch.size() < kBatch) batch.push_back(load.keys[random.below(count)]);
    load.sorted.push_back(place_sorted(batch));
  }
  for (std::size_t i = 0; i < kBatch * kDim; ++i)
    load.grads.push_back(static_cast<float>(random.unit() - 0.5));
  return load;
}

struct Ours {
  std::unique_ptr<Table> table;

  Ours(const Workload& load, RuleKind rule, std::uint32_t dim) {
    TableSpec spec;
    spec.name = "bench", spec.dim = dim, spec.rule.kind = rule;
    table = std::move(make_table(spec, {0, spec.ranges})).value();
    for (std::size_t begin = 0; begin < load.keys.size(); begin += kBatch) {
      const std::size_t end = std::min(begin + kBatch, load.keys.size());
      const auto keys = place_sorted({load.keys.begin() + static_cast<std::ptrdiff_t>(begin),
                                      load.keys.begin() + static_cast<std::ptrdiff_t>(end)});
      const Contribution part{keys, std::span(load.grads).first(keys.size() * dim)};
      table->apply({&part, 1});
    }
  }
  void pull(const Workload& load, std::vector<float>& out) const {
    const std::size_t dim = table->spec().dim;
    for (const auto& keys : load.sorted) table->read(keys, std::span(out).first(keys.size() * dim));
  }
  void push(const Workload& load) {
    const std::size_t dim = table->spec().dim;
    for (const auto& keys : load.sorted) {
      const Contribution part{keys, std::span(load.grads).first(keys.size() * dim)};
      table->apply({&part, 1});
    }
  }
  void check(const Workload& load) const {
    const std::size_t dim = table->spec().dim;
    for (const auto& keys : load.sorted) {
      const Contribution part{keys, std::span(load.grads).first(keys.size() * dim)};
      THALWEG_CHECK(table->check(part, {0, table->spec().ranges}).ok(), "bench");
    }
  }
};

// A map to row numbers beside an array of rows: kDim floats, then kDim of Adagrad's state.
template <class Map>
struct MapTable {
  Map rows;
  std::vector<float> values;

  explicit MapTable(const Workload& load) : values(load.keys.size() * 2 * kDim, 0.01f) {
    rows.reserve(load.keys.size());
    for (const Key key : load.keys) rows.emplace(key, static_cast<std::uint32_t>(rows.size()));
  }
  float* row(Key key) { return values.data() + std::size_t{rows.find(key)->second} * 2 * kDim; }

  // Calls use(row, i) for each key; `prefetch` runs ahead by kAhead keys to the map and half of it to the
  // row.
  template <bool kPrefetch, class Use>
  void each(const std::vector<Key>& keys, const Use& use) {
    if constexpr (!kPrefetch) {
      for (std::size_t i = 0; i < keys.size(); ++i) use(row(keys[i]), i);
    } else {
      float* found[kAhead];
      for (std::size_t i = 0; i < keys.size() + 2 * kAhead; ++i) {
        if (i >= 2 * kAhead) use(found[i % kAhead], i - 2 * kAhead);
        if (i >= kAhead && i - kAhead < keys.size()) {
          float* at = found[i % kAhead] = row(keys[i - kAhead]);
          __builtin_prefetch(at, 1);
          __builtin_prefetch(at + kDim, 1);
        }
        if (i < keys.size()) rows.prefetch(keys[i]);
      }
    }
  }
};

template <bool kPrefetch, class Map>
void map_pull(MapTable<Map>& table, const Workload& load, std::vector<float>& out) {
  for (const auto& keys : load.batches) {
    table.template each<kPrefetch>(keys, [&](const float* row, std::size_t i) {
      std::memcpy(&out[i * kDim], row, kDim * sizeof(float));
    });
  }
}

// The same vector loop as ours, so that only the tables differ.
template <bool kPrefetch, class Map>
void map_push(MapTable<Map>& table, const Workload& load) {
  RuleSpec spec;
  spec.kind = RuleKind::kAdagrad;
  const UpdateRule rule(spec, kDim, nullptr);
  for (const auto& keys : load.batches) {
    table.template each<kPrefetch>(
        keys, [&](float* row, std::size_t i) { rule.update_rows(&row, &load.grads[i * kDim], 1); });
  }
}

struct Contender {
  std::string name;
  std::function<void()> work;
  std::vector<double> rates = {};
};

void measure(std::vector<Contender>& contenders, int rounds) {
  for (int round = 0; round <= rounds; ++round) {
    for (Contender& contender : contenders) {
      const double rate = static_cast<double>(kBatch * kBatches) / seconds_of(contender.work) * 1e-6;
      if (round > 0) contender.rates.push_back(rate);  // The first warms up.
    }
  }
  for (Contender& contender : contenders) {
    auto& rates = contender.rates;
    std::sort(rates.begin(), rates.end());
    fmt::print("{:<48} {:7.2f} [{:.2f}..{:.2f}] M keys/s\n", contender.name, rates[rates.size() / 2],
               rates.front(), rates.back());
  }
}

void print_bytes(const char* name, const Table& table) {
  const TableStats stats = table.stats();
  fmt::print("{:<48} {:7.2f} bytes/key, {} keys\n", name,
             static_cast<double>(stats.bytes) / static_cast<double>(stats.rows), stats.rows);
}

void run(std::size_t count, int rounds) {
  const Workload load = make_workload(count);
  std::vector<float> out(kBatch * kDim);
  const double fill_s = seconds_of([&] { Ours(load, RuleKind::kAdagrad, kDim); });
  Ours ours(load, RuleKind::kAdagrad, kDim), ftrl(load, RuleKind::kFtrl, 1);
  MapTable<absl::flat_hash_map<Key, std::uint32_t>> absl_map(load);
  MapTable<std::unordered_map<Key, std::uint32_t>> std_map(load);
  fmt::print("{:<48} {:7.2f} M keys/s\n", "fill, dim 16 adagrad", static_cast<double>(count) / fill_s * 1e-6);
  print_bytes("memory, dim 16 adagrad", *ours.table);
  print_bytes("memory, dim 1 ftrl", *ftrl.table);
  std::vector<Contender> contenders = {
      {"pull, dim 16, thalweg", [&] { ours.pull(load, out); }},
      {"pull, dim 16, flat_hash_map", [&] { map_pull<false>(absl_map, load, out); }},
      {"pull, dim 16, flat_hash_map, prefetch", [&] { map_pull<true>(absl_map, load, out); }},
      {"pull, dim 16, unordered_map", [&] { map_pull<false>(std_map, load, out); }},
      {"push, dim 16 adagrad, thalweg", [&] { ours.push(load); }},
      {"push, dim 16 adagrad, flat_hash_map", [&] { map_push<false>(absl_map, load); }},
      {"push, dim 16 adagrad, flat_hash_map, prefetch", [&] { map_push<true>(absl_map, load); }},
      {"push, dim 16 adagrad, unordered_map", [&] { map_push<false>(std_map, load); }},
      {"pull, dim 1 ftrl, thalweg", [&] { ftrl.pull(load, out); }},
      {"push, dim 1 ftrl, thalweg", [&] { ftrl.push(load); }},
      {"check before a push, dim 16, thalweg", [&] { ours.check(load); }},
      {"place and sort a batch (the client's part)",
       [&] {
         std::size_t placed = 0;
         for (const auto& keys : load.batches) placed += place_sorted(keys).size();
         THALWEG_CHECK(placed > 0, "bench");
       }},
  };
  measure(contenders, rounds);
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) {
  const int millions = argc > 1 ? std::atoi(argv[1]) : 10;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  if (millions < 1 || rounds < 1) {
    fmt::print(stderr, "usage: table_bench [MILLION_KEYS [ROUNDS]]\n");
    return 2;
  }
  thalweg::run(static_cast<std::size_t>(millions) * 1'000'000, rounds);
  return 0;
}
