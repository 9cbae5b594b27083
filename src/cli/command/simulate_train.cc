// `thalweg simulate train`: a training on a simulated cluster, by production code, where computing and the
// network take made up time.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/memory_limit.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/options/sizes.h"
#include "cli/options/trainer_options.h"
#include "cli/view/output.h"
#include "sim/cluster/timed_job.h"
#include "train/simulated/train_program.h"

namespace thalweg {
namespace {

constexpr std::size_t kCurvePoints = 20;
constexpr std::uint32_t kWorkers = 4;

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }
Duration duration_of(double seconds) {
  return Duration{static_cast<std::int64_t>(std::llround(seconds * 1e9))};
}

// Loss before learning, as shards told of it.
class LossCurve {
 public:
  struct Point {
    double seconds = 0;
    double loss = 0;
  };
  void add(Duration at, const LossSum& sum) { told_.push_back({at, sum}); }
  // Means over equal parts of the time; a part in which nothing was told has none.
  std::vector<Point> points() const;

 private:
  struct Told {
    Duration at;
    LossSum sum;
  };
  std::vector<Told> told_;  // In order of time.
};

std::vector<LossCurve::Point> LossCurve::points() const {
  std::vector<Point> out;
  if (told_.empty()) return out;
  const double part = seconds_of(told_.back().at) / kCurvePoints;
  auto next = told_.begin();
  for (std::size_t p = 1; p <= kCurvePoints; ++p) {
    LossSum sum;
    const double end = static_cast<double>(p) * part;
    for (; next != told_.end() && (p == kCurvePoints || seconds_of(next->at) <= end); ++next)
      sum += next->sum;
    if (sum.weight > 0) out.push_back({end, sum.loss / sum.weight});
  }
  return out;
}

Result<sim::TimedJob> timed_job(const Options& options, const TrainProgram& program) {
  sim::TimedJob job;
  job.seed = static_cast<std::uint64_t>(options.integer("seed"));
  job.servers = static_cast<std::uint32_t>(options.maybe_integer("servers").value_or(1));
  job.workers = static_cast<std::uint32_t>(options.maybe_integer("workers").value_or(kWorkers));
  job.shards = program.shards;
  job.consistency = program.consistency;
  job.tables = program.tables;
  job.program = program.shard;
  const auto compute = sim::ComputeTime::parse(options.text("compute"));
  if (!compute) return compute.status();
  job.compute = *compute;
  if (const auto text = options.maybe_text("straggler")) {
    const auto stragglers = sim::Stragglers::parse(*text);
    if (!stragglers) return stragglers.status();
    job.stragglers = *stragglers;
  }
  job.latency = duration_of(options.real("latency"));
  if (const auto text = options.maybe_text("bandwidth")) {
    const auto bytes = parse_size(*text, "--bandwidth");
    if (!bytes) return bytes.status();
    job.bytes_per_second = static_cast<double>(*bytes);
  }
  job.stop_after = duration_of(options.maybe_real("stop-after").value_or(0));
  return job;
}

void show(const sim::TimedJob& job, const TrainProgram& program, const sim::TimedRun& run,
          const LossCurve& curve, Output& out) {
  const std::vector<LossCurve::Point> points = curve.points();
  const double steps = static_cast<double>(run.gradients) / job.shards;
  const std::uint64_t stalest = run.staleness.empty() ? 0 : run.staleness.size() - 1;
  nlohmann::ordered_json object{{"algorithm", program.algorithm},
                                {"workers", job.workers},
                                {"servers", job.servers},
                                {"simulated_seconds", seconds_of(run.time)},
                                {"gradients", run.gradients},
                                {"steps", steps},
                                {"gradients_per_second", run.gradients_per_second()},
                                {"samples_per_second", run.gradients_per_second() * program.shard_batch_rows},
                                {"push_staleness_mean", run.staleness_mean()},
                                {"push_staleness_p99", run.staleness_at(0.99)},
                                {"push_staleness_max", stalest},
                                {"steps_ahead_max", run.lead_max},
                                {"idle_share", run.idle_share},
                                {"bytes_sent", run.bytes_sent},
                                {"events", run.events},
                                {"trace_hash", fmt::format("{:016x}", run.trace_hash)}};
  object["push_staleness"] = run.staleness;
  object["curve"] = nlohmann::ordered_json::array();
  std::string lines = fmt::format("{:>12}  {}\n", "time", "loss");
  for (const LossCurve::Point& point : points) {
    object["curve"].push_back({{"seconds", point.seconds}, {"loss", point.loss}});
    lines += fmt::format("{:>12}  {:.5f}\n", seconds_text(point.seconds), point.loss);
  }
  out.json(object);
  out.human(fmt::format(
      "{} by {} workers and {} servers: {} simulated, {} gradients ({:.1f} steps), {:.2f} a second\n"
      "push staleness: mean {:.2f}, p99 {}, max {}; at most {} steps ahead of the slowest\n"
      "idle: {:.1f} %; sent: {}\n\n{}",
      program.algorithm, job.workers, job.servers, seconds_text(seconds_of(run.time)), run.gradients, steps,
      run.gradients_per_second(), run.staleness_mean(), run.staleness_at(0.99), stalest, run.lead_max,
      100 * run.idle_share, size_text(run.bytes_sent), lines));
}

Status run_simulate_train(const Options& options, Output& out) {
  const auto memory = memory_limit(options);
  if (!memory) return memory.status();
  TrainerOptions wanted = trainer_options(options, *memory);
  if (wanted.workers == 0) wanted.workers = kWorkers;
  if (!wanted.data_shards) wanted.data_shards = wanted.workers;
  wanted.on_message = [&](TrainMessage, const std::string& line) { out.warn(line); };
  const auto program = train_program(wanted);
  if (!program) return program.status();
  auto job = timed_job(options, *program);
  if (!job) return job.status();
  LossCurve curve;
  job->on_report = [&](Duration at, ShardId, ReportId id, std::string_view text) {
    if (const auto sum = learnt_loss(id, text)) curve.add(at, *sum);
  };
  const auto begin = std::chrono::steady_clock::now();
  const sim::TimedRun run = sim::run_timed(*job);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  out.detail(fmt::format("{} events in {:.2f} s of real time", run.events, took.count()));
  if (!run.status.ok()) return run.status;
  show(*job, *program, run, curve, out);
  return ok_status();
}

using T = OptionType;
constexpr std::string_view kGroup = "Simulation";
constexpr OptionRow kOwn[] = {
    {.name = "compute",
     .type = T::kText,
     .group = kGroup,
     .help = "How long a worker computes for a gradient: 30ms, normal(1s,5%) or lognormal(30ms,0.3)",
     .example = "lognormal(30ms,0.3)",
     .fallback = "30ms",
     .placeholder = "TIME"},
    {.name = "straggler",
     .type = T::kText,
     .group = kGroup,
     .help = "Workers that take longer: of every so many how many, and how many times as long",
     .example = "1 of 4, x4",
     .placeholder = "K of N, xF"},
    {.name = "latency",
     .type = T::kDuration,
     .group = kGroup,
     .help = "How long a message takes between two nodes",
     .example = "1ms",
     .fallback = "0.05ms",
     .placeholder = "TIME",
     .low = 0,
     .high = 60},
    {.name = "bandwidth",
     .type = T::kText,
     .group = kGroup,
     .help = "Bytes a second that a node sends and receives; unset is no limit",
     .example = "1.25G",
     .placeholder = "SIZE"},
    {.name = "stop-after",
     .type = T::kDuration,
     .group = kGroup,
     .help = "Simulated time after which the training is asked to end early",
     .example = "100s",
     .placeholder = "TIME",
     .low = 0,
     .high = 1e9},
};

}  // namespace

extern constinit const Command kSimulateTrainCommand = {
    .path = "simulate train",
    .summary = "Train on a simulated cluster, with real gradients and made up times of computing and sending",
    .example =
        "thalweg simulate train clicks.svm --workers 4 --algorithm async --compute 1s --straggler '1 of 4, "
        "x4'",
    .run = run_simulate_train,
    .options = {kReadOptions, "model|rank|fields|loss|hidden|inputs|classes|init-scale|epochs|batch",
                "optimizer|rate|bias-rate|l1|l2|factor-optimizer|factor-rate|factor-l2|layer-rate|seed",
                "algorithm|servers|workers|data-shards|memory"},
    .own = kOwn,
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
