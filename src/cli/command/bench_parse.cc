// bench parse: rows a second from file to memory.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "cli/command/command.h"
#include "cli/options/input.h"
#include "cli/options/options.h"
#include "cli/view/output.h"

namespace thalweg {
namespace {

constexpr std::size_t kBenchRowsAtOnce = 4096;

// Rows of one data shard. Packed data may ask a shard to wait for the others.
Result<std::uint64_t> read_shard(DataSet& data, std::uint32_t shard, std::uint32_t shards) {
  Result<std::unique_ptr<RowReader>> reader = data.reader(ShardId{shard}, shards);
  if (!reader) return as_input(reader.status());
  Batch batch;
  for (;;) {
    const Result<std::size_t> count = (*reader)->next(kBenchRowsAtOnce, batch);
    if (count && *count == 0) return (*reader)->rows_read();
    if (count) continue;
    if (count.status().code() != Code::kRetry) return as_input(count.status());
    std::this_thread::yield();
  }
}

struct Pass {
  std::uint64_t rows = 0;
  double seconds = 0;
};

Result<Pass> read_once(const ReadOptions& options, std::uint32_t threads) {
  const auto start = std::chrono::steady_clock::now();
  const Result<std::shared_ptr<DataSet>> data = DataSet::open(options);
  if (!data) return as_input(data.status());
  std::vector<std::future<Result<std::uint64_t>>> shards;
  for (std::uint32_t shard = 0; shard < threads; ++shard) {
    shards.push_back(std::async(std::launch::async, read_shard, std::ref(**data), shard, threads));
  }
  Pass pass;
  Status failed;
  for (auto& shard : shards) {
    const Result<std::uint64_t> rows = shard.get();
    if (rows) pass.rows += *rows;
    if (!rows) failed = rows.status();
  }
  if (!failed.ok()) return failed;
  pass.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return pass;
}

Status run_bench_parse(const Options& options, Output& out) {
  const ReadOptions read = read_options(options, options.arguments());
  const auto threads = static_cast<std::uint32_t>(options.maybe_integer("threads").value_or(1));
  std::vector<double> rates;
  std::uint64_t rows = 0;
  // The first pass only brings the data into memory.
  for (std::int64_t pass = 0; pass <= options.integer("repeat"); ++pass) {
    const Result<Pass> done = read_once(read, threads);
    if (!done) return done.status();
    rows = done->rows;
    const double rate = static_cast<double>(rows) / done->seconds;
    out.detail(fmt::format("pass {}: {:.0f} rows/s", pass, rate));
    if (pass > 0) rates.push_back(rate);
  }
  std::sort(rates.begin(), rates.end());
  const double median = rates[rates.size() / 2];
  out.human(fmt::format("{} rows, {} thread{}: {:.0f} rows/s (from {:.0f} to {:.0f} in {} passes)\n", rows,
                        threads, threads == 1 ? "" : "s", median, rates.front(), rates.back(), rates.size()));
  out.json({{"rows", rows},
            {"threads", threads},
            {"rows_per_second", median},
            {"rows_per_second_min", rates.front()},
            {"rows_per_second_max", rates.back()}});
  return ok_status();
}

}  // namespace

extern constinit const Command kBenchParseCommand = {
    .path = "bench parse",
    .summary = "Measure how fast the input is read, apart from any training",
    .example = "thalweg bench parse clicks.svm --threads 1",
    .run = run_bench_parse,
    .options = {kReadOptions, "from-command|command-timeout|threads|repeat"},
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
