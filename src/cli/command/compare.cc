// thalweg compare: several trainings on the same data, one after another, side by side.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/command/command.h"
#include "cli/view/compared.h"
#include "cli/view/drawing.h"
#include "cli/view/output.h"
#include "cli/view/train_view.h"
#include "cli/work/simulated_run.h"
#include "cli/work/train_run.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

Status of_run(const ComparedRun& run, const Status& status) {
  return {status.code(), fmt::format("{}: run {}: {}", run.place, run.name, status.message())};
}

Status check_target(const Comparison& all, const ComparedRun& run, const TrainerOptions& chosen) {
  if (!all.target) return ok_status();
  const auto refuse = [&](const std::string& why) {
    return Status(Code::kConfig, fmt::format("{}: target: run {} {}", all.target_place, run.name, why));
  };
  if (chosen.valid.empty() && chosen.valid_part == 0)
    return refuse("holds out no rows; expected valid or valid-part in [base] or with the run");
  const bool numbers = chosen.loss == Loss::kSquared || chosen.loss == Loss::kPoisson;
  if (all.target->accuracy && numbers) {
    return refuse(fmt::format("has {} loss, which has no accuracy; expected target = {{ valid_loss = ... }}",
                              loss_name(*chosen.loss)));
  }
  return ok_status();
}

Result<TrainerOptions> wanted_of(const Options& options, bool simulated) {
  return simulated ? wanted_simulated_training(options) : wanted_training(options);
}

// What only simulated runs can have wrong.
Status check_simulation(const ComparedRun& run, const TrainerOptions& chosen) {
  if (!run.simulated) return ok_status();
  if (const auto simulation = wanted_simulation(run.options); !simulation) return simulation.status();
  return check_simulated(chosen);
}

// So that what is wrong with the last run is known before the first one has begun.
Status check_runs(const Comparison& all) {
  for (const ComparedRun& run : all.runs) {
    const auto wanted = wanted_of(run.options, run.simulated);
    if (!wanted) return of_run(run, wanted.status());
    const auto trainer = Trainer::open(*wanted);
    if (!trainer) return of_run(run, trainer.status());
    if (const Status status = check_simulation(run, trainer->options()); !status.ok())
      return of_run(run, status);
    if (Status status = check_target(all, run, trainer->options()); !status.ok()) return status;
  }
  return ok_status();
}

Status make_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error)) {
    return {Code::kIo,
            fmt::format("cannot make the directory {}: {}", path, error ? error.message() : "it is none")};
  }
  if (fs::is_empty(path, error)) return ok_status();
  return {Code::kUsage, fmt::format("{} is not empty; expected a new directory for the comparison", path)};
}

TrainResult run_it(const Options& options, Trainer& trainer, ComparedTraining& done) {
  if (!done.simulated) return run_trainer(options, trainer);
  auto simulation = wanted_simulation(options);
  if (simulation) {
    simulation->on_end = [&](const sim::TimedRun& run) { done.updates_between = run.staleness_in_updates(); };
    return trainer.run(*simulation);
  }
  TrainResult none;
  none.status = simulation.status();
  return none;
}

// With `directory` not empty, the run directory is made in it.
ComparedTraining run_one(const ComparedRun& run, const std::string& directory, Output& out) {
  ComparedTraining done{run.name, run.simulated, {}, {}, {}};
  Options options = run.options;
  if (!directory.empty()) {
    options.assign(*find_option("run-dir"), directory + "/" + run.name, Origin::kSet,
                   "thalweg compare --out");
  }
  auto wanted = wanted_of(options, run.simulated);
  if (!wanted) {
    done.result.status = wanted.status();
    return done;
  }
  Loss loss = Loss::kLogistic;
  wanted->on_epoch = [&](const TrainEpoch& epoch) { done.points.push_back(point_of(epoch, loss)); };
  wanted->on_progress = [&](const TrainProgress& now) {
    if (!now.missing.empty() || !now.train_loss) return;
    const double seconds = std::chrono::duration<double>(now.elapsed).count();
    done.points.push_back({seconds, now.costs, *now.train_loss, {}, {}});
  };
  nlohmann::ordered_json json;
  done.result = show_one_training(options, *std::move(wanted), out, json, [&](Trainer& trainer) {
    loss = trainer.options().loss.value_or(loss);
    return run_it(options, trainer, done);
  });
  // Passes are told after they have ended, and what is on the way as it is.
  std::ranges::stable_sort(done.points, {}, &LossPoint::seconds);
  return done;
}

Status run_compare(const Options& options, Output& out) {
  const auto all = read_comparison(options.arguments().front(), options);
  if (!all) return all.status();
  const std::string directory = options.maybe_text("out").value_or("");
  if (!directory.empty()) {
    if (const auto drawn = drawn_by(gnuplot(), ""); !drawn) return drawn.status();
  }
  if (Status status = check_runs(*all); !status.ok()) return status;
  if (!directory.empty()) {
    if (Status status = make_directory(directory); !status.ok()) return status;
  }
  const auto simulated = [](const ComparedRun& run) { return run.simulated; };
  if (std::any_of(all->runs.begin(), all->runs.end(), simulated) &&
      !std::all_of(all->runs.begin(), all->runs.end(), simulated)) {
    out.warn(
        "some of these runs are simulated: do not compare their seconds with those of the others, whose "
        "steps, bytes and losses mean the same");
  }
  std::vector<ComparedTraining> done;
  Status ended;
  for (const ComparedRun& run : all->runs) {
    out.note(fmt::format("run {}{} ({} of {})", run.name, run.simulated ? ", simulated" : "", done.size() + 1,
                         all->runs.size()));
    done.push_back(run_one(run, directory, out));
    const Status& status = done.back().result.status;
    if (status.ok()) continue;
    ended = of_run(run, status);
    // That one diverges is what a comparison may be about.
    if (status.code() != Code::kNonFinite) break;
    out.warn(ended.message());
    ended = ok_status();
  }
  out.human(comparison_table(done, all->target));
  out.json(comparison_json(done, all->target));
  if (!directory.empty()) {
    const Status written = write_comparison(directory, done, all->target);
    if (ended.ok()) ended = written;
  }
  return ended;
}

}  // namespace

extern constinit const Command kCompareCommand = {
    .path = "compare",
    .summary = "Run the trainings that a file names one after another, and show them side by side",
    .example = "thalweg compare algorithms.toml --out algorithms",
    .run = run_compare,
    .options = {"out"},
    .arguments = "FILE",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
