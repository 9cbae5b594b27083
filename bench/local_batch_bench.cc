// Cost of deduplicating a batch's keys: 39 Zipf-like entries a row, as click logs have them.
#include <benchmark/benchmark.h>

#include <vector>

#include "base/random.h"
#include "bench/click_batch.h"
#include "model/local_batch.h"

namespace thalweg {
namespace {

void assign_batches(benchmark::State& state) {
  Random random(1);
  std::vector<Batch> batches;
  for (int i = 0; i < 8; ++i)
    batches.push_back(click_batch(static_cast<std::size_t>(state.range(0)), random));
  LocalBatch local;
  KeyIndex index;
  std::size_t next = 0, entries = 0, distinct = 0;
  Batch batch;
  for (auto _ : state) {
    state.PauseTiming();
    batch = batches[next++ % batches.size()];
    entries += batch.entries();
    state.ResumeTiming();
    local.assign(batch, index);
    distinct += local.keys().size();
  }
  state.counters["ns_per_entry"] = benchmark::Counter(
      static_cast<double>(entries) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["distinct_per_row"] = kFields * static_cast<double>(distinct) / static_cast<double>(entries);
}
BENCHMARK(assign_batches)->Arg(256)->Arg(1024)->Arg(4096)->Arg(16384);

}  // namespace
}  // namespace thalweg

BENCHMARK_MAIN();
