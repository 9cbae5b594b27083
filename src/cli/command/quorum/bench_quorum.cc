// bench quorum: puts and gets a second at a ring of versioned values.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "cli/command/command.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/quorum_ring.h"

namespace thalweg {
namespace {

constexpr OptionRow kBenchQuorumRows[] = {
    {.name = "bench-clients",
     .type = OptionType::kInt,
     .group = "Benchmark",
     .help = "Clients, each of which waits for one request at a time",
     .example = "32",
     .fallback = "8",
     .placeholder = "N",
     .low = 1,
     .high = 512,
     .flag = "clients"},
    {.name = "bench-requests",
     .type = OptionType::kInt,
     .group = "Benchmark",
     .help = "Puts of each client, of a new key each, and as many gets",
     .example = "10000",
     .fallback = "1000",
     .placeholder = "N",
     .low = 1,
     .high = 1e7,
     .flag = "requests"},
    {.name = "bench-value-bytes",
     .type = OptionType::kInt,
     .group = "Benchmark",
     .help = "Length of a value",
     .example = "1000",
     .fallback = "100",
     .placeholder = "N",
     .low = 0,
     .high = 1048576,
     .flag = "value-bytes"},
};

using BenchTime = std::chrono::steady_clock::time_point;

struct BenchedClient {
  Status status;
  std::vector<double> took_ms;
  std::uint64_t stale = 0;  // Gets that lacked what their own client had put.
};

struct BenchedRequests {
  Status status;
  double per_second = 0, p50_ms = 0, p99_ms = 0;
  std::uint64_t stale = 0;
};

// All clients at once. `ask(client number, request number)` says whether what it got was stale.
template <class Ask>
BenchedRequests bench_requests(std::size_t clients, std::size_t requests, const Ask& ask) {
  const BenchTime begin = std::chrono::steady_clock::now();
  std::vector<std::future<BenchedClient>> running;
  for (std::size_t client = 0; client < clients; ++client) {
    running.push_back(std::async(std::launch::async, [&ask, client, requests] {
      BenchedClient done;
      for (std::size_t request = 0; request < requests; ++request) {
        const BenchTime asked = std::chrono::steady_clock::now();
        const Result<bool> stale = ask(client, request);
        if (!stale) {
          done.status = stale.status();
          return done;
        }
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - asked;
        done.took_ms.push_back(took.count());
        done.stale += *stale ? 1 : 0;
      }
      return done;
    }));
  }
  BenchedRequests all;
  std::vector<double> took_ms;
  for (auto& one : running) {
    const BenchedClient done = one.get();
    if (!done.status.ok()) all.status = done.status;
    took_ms.insert(took_ms.end(), done.took_ms.begin(), done.took_ms.end());
    all.stale += done.stale;
  }
  if (!all.status.ok()) return all;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::ranges::sort(took_ms);
  all.per_second = static_cast<double>(took_ms.size()) / seconds;
  all.p50_ms = took_ms[took_ms.size() / 2];
  all.p99_ms = took_ms[took_ms.size() * 99 / 100];
  return all;
}

Status run_bench_quorum(const Options& options, Output& out) {
  const auto asked = asked_ring_client(options);
  if (!asked) return asked.status();
  const auto clients = static_cast<std::size_t>(options.integer("bench-clients"));
  const auto requests = static_cast<std::size_t>(options.integer("bench-requests"));
  const std::string value(static_cast<std::size_t>(options.integer("bench-value-bytes")), 'v');
  std::vector<std::unique_ptr<QuorumClient>> open;
  for (std::size_t client = 0; client < clients; ++client) {
    auto one = QuorumClient::open(*asked);
    if (!one) return one.status();
    open.push_back(*std::move(one));
  }
  std::random_device device;  // Keys that no run before has put.
  const Key first = (Key{device()} << 31) ^ device();
  const auto key_of = [&](std::size_t client, std::size_t request) {
    return first + client * requests + request;
  };
  for (std::size_t client = 0; client < clients;
       ++client) {  // Connects, and waits for a ring that has just begun.
    if (const auto got = open[client]->get(key_of(client, 0)); !got) return got.status();
  }
  const BenchedRequests puts =
      bench_requests(clients, requests, [&](std::size_t client, std::size_t request) -> Result<bool> {
        const Status status = open[client]->put(key_of(client, request), value);
        return status.ok() ? Result<bool>(false) : Result<bool>(status);
      });
  if (!puts.status.ok()) return puts.status;
  const BenchedRequests gets =
      bench_requests(clients, requests, [&](std::size_t client, std::size_t request) -> Result<bool> {
        const auto got = open[client]->get(key_of(client, request));
        if (!got) return got.status();
        return std::ranges::count(got->values, value) == 0;
      });
  if (!gets.status.ok()) return gets.status;
  std::string text =
      fmt::format("{} clients, {} puts and gets each, of {} bytes\n", clients, requests, value.size());
  for (const auto& [what, done] : {std::pair("puts", puts), std::pair("gets", gets)}) {
    text += fmt::format("{}  {:>8.0f}/s   p50 {:.3f} ms   p99 {:.3f} ms\n", what, done.per_second,
                        done.p50_ms, done.p99_ms);
  }
  out.human(text + fmt::format("{} gets were stale\n", gets.stale));
  out.json({{"clients", clients},
            {"requests", requests},
            {"value_bytes", value.size()},
            {"puts_per_second", puts.per_second},
            {"put_p50_ms", puts.p50_ms},
            {"put_p99_ms", puts.p99_ms},
            {"gets_per_second", gets.per_second},
            {"get_p50_ms", gets.p50_ms},
            {"get_p99_ms", gets.p99_ms},
            {"stale_gets", gets.stale}});
  return ok_status();
}

}  // namespace

extern constinit const Command kBenchQuorumCommand = {
    .path = "bench quorum",
    .summary = "Measure puts and gets a second at a live ring, which keeps the keys that they put",
    .example = "thalweg bench quorum --ring 127.0.0.1:7201,127.0.0.1:7202,127.0.0.1:7203 --clients 16",
    .run = run_bench_quorum,
    .options = {kRingOptions, "ring-timeout"},
    .own = kBenchQuorumRows,
};

}  // namespace thalweg
