#include "cli/view/train_view.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/instant.h"
#include "cli/command/command.h"
#include "cli/signals.h"
#include "cli/view/job_view.h"
#include "cli/view/progress.h"
#include "cli/view/sweep_view.h"
#include "cli/work/run_directory.h"
#include "model/metric/metric.h"

namespace thalweg {
namespace {

constexpr int kBadModelExit = 9;
constexpr Duration kNagEvery = std::chrono::seconds(5);
constexpr const char* kAtOnce =
    "{\"error\":{\"code\":\"ABORTED\",\"message\":\"interrupted twice; stopped at once\"}}\n";

nlohmann::ordered_json finite_number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

// NaN where no row was held out.
double number_of(const Metric& metric, const std::optional<HeldOutNumbers>& rows) {
  return rows ? rows->metrics.at(std::string(metric.name)) : std::nan("");
}

// The high-water mark of this process. getrusage() would count what its parent had before exec.
std::uint64_t own_max_rss_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

// The largest of this process and the ended ones that it started.
std::uint64_t max_rss_bytes() {
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  return std::max(own_max_rss_bytes(), static_cast<std::uint64_t>(children.ru_maxrss) * 1024);
}

void add_loss(nlohmann::ordered_json& line, Loss loss, double mean) {
  const Metric& judge = judging_metric(loss);
  line[fmt::format("train_{}", judge.name)] = finite_number(judge.of_mean_loss(mean));
}

void add_costs(nlohmann::ordered_json& line, const TrainCosts& costs) {
  line["steps"] = costs.steps;
  line["bytes_pushed"] = costs.bytes_pushed;
  line["bytes_sent"] = costs.bytes_sent;
  line["staleness_mean"] = costs.staleness_mean;
}

nlohmann::ordered_json line_of(const TrainEpoch& epoch, Loss loss) {
  nlohmann::ordered_json line = {{"kind", "epoch"}, {"epoch", epoch.number}, {"examples", epoch.examples}};
  add_loss(line, loss, epoch.train_loss);
  add_costs(line, epoch.costs);
  if (!epoch.held_out) return line;
  for (const auto& [name, value] : epoch.held_out->metrics) line["valid_" + name] = finite_number(value);
  return line;
}

nlohmann::ordered_json line_of(const TrainProgress& now, Loss loss) {
  nlohmann::ordered_json line = {{"kind", "progress"}, {"epoch", now.epoch}, {"examples", now.examples}};
  if (now.train_loss) add_loss(line, loss, *now.train_loss);
  if (now.auc) line["train_auc"] = finite_number(*now.auc);
  add_costs(line, now.costs);
  line["staleness_max"] = now.costs.staleness_max;
  line["workers"] = now.workers;
  line["workers_alive"] = now.workers_alive;
  line["servers"] = now.servers;
  line["servers_alive"] = now.servers_alive;
  return line;
}

void add_numbers(nlohmann::ordered_json& json, const TrainResult& result) {
  json["steps"] = result.steps;
  json["samples_per_second"] = result.samples_per_second;
  json["train_loss"] = finite_number(result.train_loss);
  if (result.valid_loss) json["valid_loss"] = finite_number(*result.valid_loss);
  if (result.valid_accuracy) json["valid_accuracy"] = finite_number(*result.valid_accuracy);
  json["bytes_sent"] = result.bytes_sent;
  json["idle_share"] = result.idle_share;
  json["exchange_seconds_exposed"] = result.exchange_seconds_exposed;
  json["staleness_mean"] = result.staleness_mean;
  json["staleness_p99"] = result.staleness_p99;
  nlohmann::ordered_json counts = nlohmann::ordered_json::array();
  for (const LedPulls& some : result.led_pulls) {
    counts.push_back({{"steps_min", some.steps_min}, {"steps_max", some.steps_max}, {"pulls", some.pulls}});
  }
  json["staleness_counts"] = std::move(counts);
}

nlohmann::ordered_json history_json(const TrainResult& result, Loss loss) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (const TrainEpoch& epoch : result.epochs) {
    lines.push_back(line_of(epoch, loss));
    for (const char* live : {"kind", "bytes_pushed", "bytes_sent", "staleness_mean"})
      lines.back().erase(live);
  }
  return lines;
}

// What held-out rows say of the model that is kept; nothing if they say nothing.
std::optional<HeldOutNumbers> held_out_of_kept(const TrainResult& result) {
  for (const TrainEpoch& epoch : result.epochs) {
    if (epoch.number == result.kept_epoch) return epoch.held_out;
  }
  return std::nullopt;
}

class TrainView {
 public:
  TrainView(const TrainerOptions& options, Output& out);
  void add_callbacks(TrainerOptions& options);
  void watch(Trainer& trainer);
  void write_down(RunDirectory record) { record_ = std::move(record); }
  // When nothing more is to come.
  void finish() { progress_.clear(); }
  // The line of --json.
  nlohmann::ordered_json sum_up(const TrainResult& result, bool may_save);
  void end_record(nlohmann::ordered_json result, const TrainResult& how, bool simulated);

 private:
  void say(TrainMessage kind, const std::string& line);
  void show(const TrainEpoch& epoch);
  void show(const TrainProgress& now);
  void show_scheduler(const std::string& address);
  void answer_interrupt(const TrainProgress& now);
  nlohmann::ordered_json to_json(const TrainResult& result) const;

  Output& out_;
  Loss loss_;
  const MetricList metrics_;
  const bool saves_, keeps_, may_resume_;
  bool holds_out_;
  std::uint32_t epochs_;
  const std::thread::id thread_ = std::this_thread::get_id();
  Progress progress_;
  std::optional<RunDirectory> record_;
  Trainer* trainer_ = nullptr;
  const std::atomic<bool>* interrupted_ = nullptr;
  bool closing_ = false;
  Instant nag_at_ = Instant{} + kNagEvery;
};

TrainView::TrainView(const TrainerOptions& options, Output& out)
    : out_(out),
      loss_(options.loss.value_or(Loss::kLogistic)),
      metrics_(metrics(options.more.metrics)),
      saves_(!options.out.empty()),
      keeps_(!options.checkpoint.directory.empty()),
      may_resume_(!options.checkpoint.resume.empty() || !options.state.empty()),
      holds_out_(!options.valid.empty() || options.valid_part != 0),
      epochs_(options.epochs.value_or(1)),
      progress_(
          terminal_columns(2) > 0 && !out.style().quiet,
          [&out](std::string_view text) {
            if (!out.style().quiet) std::fwrite(text.data(), 1, text.size(), out.words());
            std::fflush(out.words());
          },
          [] { return terminal_columns(2); }) {}

void TrainView::add_callbacks(TrainerOptions& options) {
  options.on_message = [this](TrainMessage kind, const std::string& line) { say(kind, line); };
  options.on_epoch = [this, more = options.on_epoch](const TrainEpoch& epoch) {
    show(epoch);
    if (more) more(epoch);
  };
  options.on_listening = [this, more = options.on_listening](const std::string& address) {
    show_scheduler(address);
    if (more) more(address);
  };
  options.on_progress = [this, more = options.on_progress](const TrainProgress& now) {
    show(now);
    if (more) more(now);
  };
}

void TrainView::watch(Trainer& trainer) {
  trainer_ = &trainer;
  const TrainerOptions& chosen = trainer.options();
  loss_ = chosen.loss.value_or(loss_);
  epochs_ = chosen.epochs.value_or(epochs_);
  holds_out_ = !chosen.valid.empty() || chosen.valid_part != 0;
  interrupted_ = &catch_interrupts(out_.style().json ? kAtOnce : "");
}

void TrainView::say(TrainMessage kind, const std::string& line) {
  if (std::this_thread::get_id() == thread_) progress_.clear();
  if (kind == TrainMessage::kDetail) out_.detail(line);
  if (kind == TrainMessage::kNote) out_.note(line);
  if (kind == TrainMessage::kWarning) out_.warn(line);
}

void TrainView::show(const TrainEpoch& epoch) {
  if (record_) record_->add(epoch.seconds, line_of(epoch, loss_));
  const Metric& judge = judging_metric(loss_);
  std::string line = fmt::format("epoch {}/{}  {} examples", epoch.number, epochs_, epoch.examples);
  if (!may_resume_ || !std::isnan(epoch.train_loss))  // Else all of this pass was learnt before.
    line += fmt::format("  train {} {:.5f}", judge.name, judge.of_mean_loss(epoch.train_loss));
  std::string_view rows = "held-out ";
  for (const Metric* metric : metrics_) {
    if (!epoch.held_out || metric->told(loss_) != Told::kEachPass) continue;
    line += fmt::format("  {}{} {:.5f}", std::exchange(rows, ""), metric->name,
                        number_of(*metric, epoch.held_out));
  }
  say(TrainMessage::kNote, line);
}

void TrainView::show_scheduler(const std::string& address) {
  if (!record_) return;
  if (const Status written = record_->add_scheduler(address); !written.ok()) out_.warn(written.message());
}

void TrainView::answer_interrupt(const TrainProgress& now) {
  if (!*interrupted_ || closing_) return;
  closing_ = true;
  if (now.missing.empty()) {
    say(TrainMessage::kNote, fmt::format("stopping{}; press Ctrl-C again to stop at once",
                                         keeps_   ? ": taking a checkpoint"
                                         : saves_ ? ": saving what is learnt so far"
                                                  : ""));
  }
  trainer_->close();
}

void TrainView::show(const TrainProgress& now) {
  answer_interrupt(now);
  const Instant at = Instant{} + now.elapsed;
  if (!now.missing.empty()) {
    if (at < nag_at_) return;
    say(TrainMessage::kNote, "waiting for " + now.missing);
    nag_at_ = at + kNagEvery;
    return;
  }
  const double seconds = std::chrono::duration<double>(now.elapsed).count();
  if (record_ && record_->is_progress_due(seconds)) record_->add(seconds, line_of(now, loss_));
  ProgressNumbers p;
  p.epoch = now.epoch;
  p.epochs = epochs_;
  p.examples = now.examples;
  p.done = now.done;
  const std::string_view name = judging_metric(loss_).name;
  p.loss_name =
      is_mean_loss(loss_) ? fmt::format("train {}", name) : fmt::format("train {} loss", loss_name(loss_));
  p.loss = now.train_loss;
  p.auc = now.auc;
  p.staleness = now.costs.staleness_max;
  p.workers = now.workers, p.workers_alive = now.workers_alive;
  p.servers = now.servers, p.servers_alive = now.servers_alive;
  progress_.update(p, at);
}

// The run is over and its model saved: what cannot be written down does not undo that.
void TrainView::end_record(nlohmann::ordered_json result, const TrainResult& how, bool simulated) {
  if (!record_) return;
  const auto simulated_s = simulated ? std::optional(how.seconds) : std::nullopt;
  const Status written = record_->end(std::move(result), how.status, simulated_s);
  if (!written.ok()) out_.warn(written.message());
}

// `may_save`: a training of this kind takes --out for its model.
nlohmann::ordered_json TrainView::sum_up(const TrainResult& result, bool may_save) {
  const double rate = result.seconds > 0 ? static_cast<double>(result.examples) / result.seconds : 0;
  const std::string keys = result.model_rows > 0 ? fmt::format("{} keys; ", result.model_rows) : "";
  std::string line = fmt::format("{} examples in {:.2f} s, {:.0f} a second; {}model digest {:016x}",
                                 result.examples, result.seconds, rate, keys, result.model_digest);
  if (result.skipped_rows > 0) line += fmt::format("; {} bad rows skipped", result.skipped_rows);
  const bool bad = !result.not_kept.empty();  // An error of the training says so itself.
  if (!result.model.empty()) line += "; saved to " + result.model;
  if (result.model.empty() && !bad) line += "; not saved";
  if (result.model.empty() && !bad && may_save) line += ", --out DIR keeps it";
  out_.note(line);
  if (bad && result.status.ok()) {
    out_.warn(fmt::format("the model is not saved: {}; --keep-bad saves it all the same", result.not_kept));
    out_.end_with(kBadModelExit);
  }
  for (const std::string& text : result.notes) out_.note(text);
  for (const std::string& text : result.warnings) out_.warn(text);
  return to_json(result);
}

nlohmann::ordered_json TrainView::to_json(const TrainResult& result) const {
  const bool interrupted = closing_;
  const double rate = result.seconds > 0 ? static_cast<double>(result.examples) / result.seconds : 0;
  nlohmann::ordered_json json;
  json["examples"] = result.examples;
  json["seconds"] = result.seconds;
  json["examples_per_second"] = rate;
  const std::string_view loss = is_mean_loss(loss_) ? judging_metric(loss_).name : "loss";
  json[fmt::format("train_{}", loss)] = finite_number(result.train_loss);
  json[fmt::format("progressive_{}", loss)] = finite_number(result.progressive_loss);
  const auto held_out = held_out_of_kept(result);
  if (held_out || (holds_out_ && !interrupted)) {
    const auto add = [&](Told told) {
      for (const Metric* metric : metrics_) {
        if (metric->told(loss_) != told) continue;
        json[fmt::format("valid_{}", metric->name)] = finite_number(number_of(*metric, held_out));
      }
    };
    add(Told::kEachPass);
    json["best_epoch"] =
        result.best_epoch != 0 ? nlohmann::ordered_json(result.best_epoch) : nlohmann::ordered_json();
    json["kept_epoch"] =
        result.kept_epoch != 0 ? nlohmann::ordered_json(result.kept_epoch) : nlohmann::ordered_json();
    add(Told::kTrain);
  }
  json["history"] = history_json(result, loss_);
  json["model_digest"] = fmt::format("{:016x}", result.model_digest);
  json["model_rows"] = result.model_rows;
  json["max_rss_bytes"] = max_rss_bytes();
  add_numbers(json, result);
  json["staleness_max"] = result.staleness_max;
  json["pushes_dropped"] = result.pushes_dropped;
  json["pushed_bytes"] = result.pushed_bytes;
  json["skipped_rows"] = result.skipped_rows;
  json["failovers"] = failovers_json(result.failovers);
  json["interrupted"] = interrupted;
  if (!result.model.empty()) json["model"] = result.model;
  if (!result.not_kept.empty()) json["not_kept"] = result.not_kept;
  return json;
}

using Run = std::function<TrainResult(Trainer& trainer)>;

TrainResult show(const Options& given, TrainerOptions options, Output& out, nlohmann::ordered_json& json,
                 const Run& run, bool may_save) {
  TrainResult result;
  const auto refused = [&](const Status& why) {
    result.status = why;
    return result;
  };
  TrainView view(options, out);
  view.add_callbacks(options);
  auto trainer = Trainer::open(std::move(options));
  if (!trainer) return refused(trainer.status());
  view.watch(*trainer);
  if (const auto path = given.maybe_text("run-dir")) {
    auto record = RunDirectory::make(*path, given);
    if (!record) return refused(record.status());
    view.write_down(*std::move(record));
  }
  result = run(*trainer);
  view.finish();
  if (result.complete) {
    json = view.sum_up(result, may_save);
    tell_of_sweep(result, out, json);
  }
  view.end_record(json, result, given.command().path == "simulate train");
  return result;
}

}  // namespace

TrainResult show_one_training(const Options& given, TrainerOptions options, Output& out,
                              nlohmann::ordered_json& json, const Run& run) {
  return show(given, std::move(options), out, json, run, false);
}

Status show_training(const Options& given, TrainerOptions options, Output& out, const Run& run) {
  nlohmann::ordered_json json;
  const auto all = options_of(given.command());
  const bool may_save =
      std::any_of(all.begin(), all.end(), [](const OptionRow* row) { return row->name == "out"; });
  const TrainResult result = show(given, std::move(options), out, json, run, may_save);
  if (!json.is_null()) out.json(json);
  return result.status;
}

}  // namespace thalweg
