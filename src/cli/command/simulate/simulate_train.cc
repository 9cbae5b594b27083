// `thalweg simulate train`: a training on a simulated cluster, by production code, where computing and the
// network take made up time.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command/command.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/options/sizes.h"
#include "cli/view/output.h"
#include "cli/work/simulated_run.h"

namespace thalweg {
namespace {

constexpr std::size_t kCurvePoints = 20;

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

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

// What there is to show of one simulated training.
struct Shown {
  const TrainerOptions& options;  // As chosen.
  const TrainResult& result;
  const sim::TimedRun& run;
  std::vector<LossCurve::Point> curve;

  std::string_view algorithm() const { return options.algorithm; }
  double steps() const { return static_cast<double>(run.gradients) / *options.data_shards; }
  double rows_a_gradient() const {
    return static_cast<double>(std::max(*options.batch / *options.data_shards, 1u));
  }
};

nlohmann::ordered_json finite_number(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json epochs_json(const TrainResult& result) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const TrainEpoch& epoch : result.epochs) {
    nlohmann::ordered_json one{{"epoch", epoch.number},
                               {"seconds", epoch.seconds},
                               {"steps", epoch.costs.steps},
                               {"train_loss", finite_number(epoch.train_loss)}};
    if (epoch.held_out) {
      for (const auto& [name, value] : epoch.held_out->metrics) one["valid_" + name] = finite_number(value);
    }
    all.push_back(std::move(one));
  }
  return all;
}

nlohmann::ordered_json to_json(const Shown& shown) {
  const auto& [options, result, run, curve] = shown;
  nlohmann::ordered_json object{{"algorithm", shown.algorithm()},
                                {"workers", options.workers},
                                {"servers", options.servers},
                                {"simulated_seconds", seconds_of(run.time)},
                                {"gradients", run.gradients},
                                {"steps", shown.steps()},
                                {"gradients_per_second", run.gradients_per_second()},
                                {"samples_per_second", run.gradients_per_second() * shown.rows_a_gradient()},
                                {"push_staleness_mean", sim::mean_of(run.staleness)},
                                {"push_staleness_p99", sim::quantile_of(run.staleness, 0.99)},
                                {"push_staleness_max", sim::most_of(run.staleness)},
                                {"steps_ahead_max", run.lead_max},
                                {"idle_share", run.idle_share},
                                {"bytes_sent", run.bytes_sent},
                                {"events", run.events},
                                {"trace_hash", fmt::format("{:016x}", run.trace_hash)}};
  object["push_staleness"] = run.staleness;
  if (!run.staleness_counted.empty()) {
    object["push_staleness_updates_mean"] = sim::mean_of(run.staleness_counted);
    object["push_staleness_updates"] = run.staleness_counted;
  }
  object["curve"] = nlohmann::ordered_json::array();
  for (const LossCurve::Point& point : curve)
    object["curve"].push_back({{"seconds", point.seconds}, {"loss", point.loss}});
  object["model_digest"] = fmt::format("{:016x}", result.model_digest);
  object["epochs"] = epochs_json(result);
  return object;
}

// Of the passes that scored held-out rows; none, where none are held out.
std::string epochs_text(const TrainResult& result) {
  std::string text;
  for (const TrainEpoch& epoch : result.epochs) {
    if (!epoch.held_out) continue;
    text += fmt::format("pass {} ended after {}:", epoch.number, seconds_text(epoch.seconds));
    for (const auto& [name, value] : epoch.held_out->metrics) text += fmt::format("  {} {:.5f}", name, value);
    text += "\n";
  }
  return text.empty() ? text : "held-out rows\n" + text + "\n";
}

std::string staleness_text(const sim::TimedRun::Histogram& histogram) {
  return fmt::format("mean {:.2f}, p99 {}, max {}", sim::mean_of(histogram),
                     sim::quantile_of(histogram, 0.99), sim::most_of(histogram));
}

std::string to_text(const Shown& shown) {
  const sim::TimedRun& run = shown.run;
  std::string lines = fmt::format("{:>12}  {}\n", "time", "loss");
  for (const LossCurve::Point& point : shown.curve)
    lines += fmt::format("{:>12}  {:.5f}\n", seconds_text(point.seconds), point.loss);
  const std::string counted =
      run.staleness_counted.empty() ? "" : "; in updates: " + staleness_text(run.staleness_counted);
  return fmt::format(
      "{} by {} workers and {} servers: {} simulated, {} gradients ({:.1f} steps), {:.2f} a second\n"
      "push staleness: {}{}; at most {} steps ahead of the slowest\n"
      "idle: {:.1f} %; sent: {}\n\n{}{}",
      shown.algorithm(), shown.options.workers, shown.options.servers, seconds_text(seconds_of(run.time)),
      run.gradients, shown.steps(), run.gradients_per_second(), staleness_text(run.staleness), counted,
      run.lead_max, 100 * run.idle_share, size_text(run.bytes_sent), epochs_text(shown.result), lines);
}

Status run_simulate_train(const Options& options, Output& out) {
  auto wanted = wanted_simulated_training(options);
  if (!wanted) return wanted.status();
  auto simulation = wanted_simulation(options);
  if (!simulation) return simulation.status();
  wanted->on_message = [&](TrainMessage kind, const std::string& line) {
    kind == TrainMessage::kWarning ? out.warn(line) : out.detail(line);
  };
  auto trainer = Trainer::open(*std::move(wanted));
  if (!trainer) return trainer.status();
  LossCurve curve;
  sim::TimedRun run;
  simulation->on_learnt = [&](Duration at, const LossSum& sum) { curve.add(at, sum); };
  simulation->on_end = [&](const sim::TimedRun& numbers) { run = numbers; };
  const auto begin = std::chrono::steady_clock::now();
  const TrainResult result = trainer->run(*simulation);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  out.detail(fmt::format("{} events in {:.2f} s of real time", run.events, took.count()));
  if (!result.complete) return result.status;
  for (const std::string& text : result.warnings) out.detail(text);
  const Shown shown{trainer->options(), result, run, curve.points()};
  out.json(to_json(shown));
  out.human(to_text(shown));
  return result.status;
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
    {.name = "simulated-room",
     .type = T::kText,
     .group = kGroup,
     .help =
         "The machine room where workers and servers sit, in place of --latency and --bandwidth: a preset or "
         "a TOML file",
     .example = "rack-10g",
     .placeholder = "FILE|PRESET",
     .flag = "room"},
    {.name = "stop-after",
     .type = T::kDuration,
     .group = kGroup,
     .help = "Simulated time after which the training is asked to end early",
     .example = "100s",
     .placeholder = "TIME",
     .low = 0.001,
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
    .options =
        {kReadOptions,
         "raw-values|interactions|valid|valid-part|init|init-weights|model|rank|fields|loss|hidden|inputs|"
         "classes|init-scale|epochs|"
         "batch",
         "optimizer|rate|bias-rate|l1|l2|factor-optimizer|factor-rate|factor-l2|layer-rate|seed",
         "algorithm|exchange|servers|workers|data-shards|memory"},
    .own = kOwn,
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
