// bench exchange: one operation among ranks at many sizes, in the columns of nccl-tests.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/exchange_meter.h"
#include "cli/work/local_ranks.h"
#include "exchange/plan/plan.h"

namespace thalweg {
namespace {

struct BenchPlan {
  ExchangeTask task;
  std::string op, type, redop, transport, memory, route, costs;
  std::uint32_t ranks = 2;
  std::uint64_t bytes_min = 0, bytes_max = 0;
  std::uint32_t iterations = 0;  // 0: by size.
};

Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::string_view kUnits = "KMG";
  const std::size_t power = unit.empty() ? 0 : kUnits.find(unit.front()) + 1;
  if (error != std::errc() || unit.size() > 1 || power > kUnits.size() || value == 0 || value >> 20 > 0) {
    return Status(
        Code::kUsage,
        fmt::format("'{}': expected a size such as 4096, 64K, 4M or 1G, below 1048576 of its unit", text));
  }
  return value << (10 * power);
}

DataType parse_type(std::string_view name) {
  std::size_t i = 0;
  while (name != data_type_name(static_cast<DataType>(i))) ++i;
  return static_cast<DataType>(i);
}
Reduction parse_reduction(std::string_view name) {
  return name == "min" ? Reduction::kMin : name == "max" ? Reduction::kMax : Reduction::kSum;
}
Result<BenchPlan> read_plan(const Options& options) {
  BenchPlan plan;
  plan.op = options.choice("bench-op").word;
  plan.type = options.choice("bench-type").word;
  plan.redop = options.choice("bench-redop").word;
  plan.transport = options.choice("bench-transport").word;
  plan.memory = options.choice("bench-memory").word;
  plan.route = present_name(options.maybe_text("bench-route").value_or("auto"));
  plan.ranks = static_cast<std::uint32_t>(options.integer("bench-ranks"));
  plan.costs = options.maybe_text("bench-costs").value_or("");
  plan.iterations = static_cast<std::uint32_t>(options.maybe_integer("iterations").value_or(0));
  plan.task.operation = *parse_operation(plan.op);  // One of the choices.
  plan.task.type = parse_type(plan.type);
  plan.task.reduction = parse_reduction(plan.redop);
  RouteChoice::Tuning tuning{0, static_cast<std::uint32_t>(options.integer("bench-channels"))};
  if (const auto piece = options.maybe_text("bench-piece")) {
    const Result<std::uint64_t> bytes = parse_bytes(*piece);
    if (!bytes) return bytes.status();
    tuning.piece_bytes = *bytes;
  }
  if (plan.route == "auto" && (tuning.piece_bytes > 0 || tuning.channels > 1))
    return Status(Code::kUsage, "--piece and --channels belong to a --route; expected its name");
  if (plan.route != "auto") {
    Result<RouteChoice> route = RouteChoice::named(plan.route, tuning);
    if (!route) return route.status();
    if (route->servers() > 0) {
      return Status(Code::kUsage,
                    fmt::format("--route {}: its servers contribute nothing; expected a route that "
                                "all ranks take part in",
                                plan.route));
    }
    plan.task.route = *std::move(route);
  }
  const std::string& range = options.text("bench-bytes");
  const std::size_t colon = range.find(':');
  const Result<std::uint64_t> low = parse_bytes(std::string_view(range).substr(0, colon));
  if (!low) return low.status();
  const Result<std::uint64_t> high =
      colon == range.npos ? low : parse_bytes(std::string_view(range).substr(colon + 1));
  if (!high) return high.status();
  plan.bytes_min = *low;
  plan.bytes_max = *high;
  if (*low > *high)
    return Status(Code::kUsage, fmt::format("--bytes {}: expected the smaller size first", range));
  return plan;
}

class ShownTimes {
 public:
  ShownTimes(const BenchPlan& plan, Output& out) : plan_(plan), out_(out) {
    out_.human(fmt::format("# {} ranks, transport {}, {} memory, route {}\n", plan.ranks, plan.transport,
                           plan.memory, plan.route));
    out_.human(fmt::format("#{:>62}{:>36}\n", "out-of-place", "in-place"));
    out_.human(fmt::format("#{:>11}{:>13}{:>7}{:>8}{:>6}", "size", "count", "type", "redop", "root"));
    for (int i = 0; i < 2; ++i)
      out_.human(fmt::format("{:>11}{:>9}{:>9}{:>7}", "time", "algbw", "busbw", "#wrong"));
    out_.human(fmt::format("\n#{:>11}{:>13}{:>21}", "(B)", "(elements)", ""));
    for (int i = 0; i < 2; ++i)
      out_.human(fmt::format("{:>11}{:>9}{:>9}{:>7}", "(us)", "(GB/s)", "(GB/s)", ""));
    out_.human("\n");
  }
  void add(std::uint64_t bytes, std::uint64_t count, const ExchangeTiming& outside,
           const ExchangeTiming& inside) {
    const bool rooted = plan_.op == "reduce" || plan_.op == "broadcast";
    const std::string redop = combines(plan_.task.operation) ? plan_.redop : "none";
    const int root = rooted ? 0 : -1;
    out_.human(fmt::format("{:>12}{:>13}{:>7}{:>8}{:>6}", bytes, count, plan_.type, redop, root));
    nlohmann::ordered_json row = {
        {"size", bytes}, {"count", count}, {"type", plan_.type}, {"redop", redop}, {"root", root}};
    add_half(row, "out_of_place", bytes, outside);
    add_half(row, "in_place", bytes, inside);
    out_.human("\n");
    rows_.push_back(std::move(row));
  }
  Status finish() {
    out_.json({{"op", plan_.op},
               {"transport", plan_.transport},
               {"memory", plan_.memory},
               {"route", plan_.route},
               {"ranks", plan_.ranks},
               {"wrong", wrong_},
               {"results", rows_}});
    if (wrong_ == 0) return ok_status();
    return {Code::kIo, fmt::format("{} elements came out wrong", wrong_)};
  }

 private:
  void add_half(nlohmann::ordered_json& row, const char* name, std::uint64_t bytes,
                const ExchangeTiming& timing) {
    const double algorithm = static_cast<double>(bytes) / timing.seconds / 1e9;
    const double bus = algorithm * bus_factor(plan_.task.operation, plan_.ranks);
    out_.human(
        fmt::format("{:>11.2f}{:>9.2f}{:>9.2f}{:>7}", timing.seconds * 1e6, algorithm, bus, timing.wrong));
    row[name] = {{"time_us", timing.seconds * 1e6},
                 {"algbw", algorithm},
                 {"busbw", bus},
                 {"bytes_sent", timing.bytes_sent},
                 {"wrong", timing.wrong}};
    wrong_ += timing.wrong;
  }

  const BenchPlan& plan_;
  Output& out_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
  std::uint64_t wrong_ = 0;
};

// What each rank does; rank 0 has a table.
Status run_rank(Group& group, const BenchPlan& plan, ShownTimes* table) {
  const std::size_t element = size_bytes(plan.task.type);
  const std::size_t memory_bytes = 2 * plan.bytes_max + 2 * element * plan.ranks;
  std::vector<std::byte> ordinary(plan.memory == "ordinary" ? memory_bytes : 0);
  Result<void*> memory = ordinary.data();
  if (plan.memory == "group") memory = group.allocate_bytes(memory_bytes);
  if (!memory) return memory.status();
  for (std::uint64_t bytes = plan.bytes_min; bytes <= plan.bytes_max; bytes *= 2) {
    ExchangeTask task = plan.task;
    // Parts are equal, so that bandwidths compare.
    task.count = std::max<std::uint64_t>(bytes / element / plan.ranks, 1) * plan.ranks;
    if (task.operation == Operation::kAllReduce || task.operation == Operation::kBroadcast ||
        task.operation == Operation::kReduce) {
      task.count = std::max<std::uint64_t>(bytes / element, 1);
    }
    const std::uint64_t by_size = std::clamp<std::uint64_t>((std::uint64_t{64} << 20) / bytes, 5, 2000);
    task.iterations = plan.iterations > 0 ? plan.iterations : static_cast<std::uint32_t>(by_size);
    ExchangeTiming timings[2];
    for (const bool in_place : {false, true}) {
      task.in_place = in_place;
      Result<ExchangeTiming> timing = measure(group, task, static_cast<std::byte*>(*memory));
      if (!timing) return timing.status();
      timings[in_place ? 1 : 0] = *timing;
    }
    if (table) table->add(task.count * element, task.count, timings[0], timings[1]);
  }
  if (plan.memory == "group") group.free(*memory);
  return group.barrier();
}

Status run_bench_exchange(const Options& options, Output& out) {
  const Result<BenchPlan> plan = read_plan(options);
  if (!plan) return plan.status();
  std::fflush(out.results());
  ShownTimes table(*plan, out);
  std::fflush(out.results());
  const Status status = run_local_ranks(
      plan->ranks, plan->transport,
      [&](Group& group) { return run_rank(group, *plan, group.rank() == 0 ? &table : nullptr); },
      plan->costs);
  return status.ok() ? table.finish() : status;
}

}  // namespace

extern constinit const Command kBenchExchangeCommand = {
    .path = "bench exchange",
    .summary = "Measure an operation among ranks, in the columns of nccl-tests",
    .example = "thalweg bench exchange --ranks 2 --transport shm --op all-reduce --bytes 4K:64M",
    .run = run_bench_exchange,
    .options = {"bench-ranks|bench-transport|bench-memory|bench-op|bench-bytes|bench-route|bench-piece|bench-"
                "channels|bench-costs|bench-type|bench-redop|iterations"},
};

}  // namespace thalweg
