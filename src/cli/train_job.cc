#include "cli/train_job.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/input.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/train_advice.h"
#include "client/job_options.h"
#include "net/real_clock.h"
#include "net/system_disk.h"

namespace thalweg {
namespace {

constexpr Duration kRefresh = std::chrono::milliseconds(100);
constexpr Duration kNagEvery = std::chrono::seconds(5);
constexpr const char* kAtOnce =
    "{\"error\":{\"code\":\"ABORTED\",\"message\":\"interrupted twice; stopped at once\"}}\n";

constexpr const char* kLostHint =
    "start the job again: what a lost node held is gone. Signal 9 that nobody sent is the kernel's when "
    "memory "
    "runs out, see dmesg";

double mean(const LossSum& sum) { return sum.weight > 0 ? sum.loss / sum.weight : std::nan(""); }

nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
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

}  // namespace

TrainJob::TrainJob(const Options& options, Output& out)
    : options_(options), out_(out), interrupted_(catch_interrupts(out.style().json ? kAtOnce : "")) {}

Result<std::unique_ptr<TrainJob>> TrainJob::create(const Options& options, Output& out) {
  if (const auto dir = options.maybe_text("out")) {
    if (Status status = check_model_destination(SystemDisk(), *dir); !status) return status;
  }
  auto plan = plan_training(options, options.arguments());
  if (!plan) return plan.status();
  auto model = make_model(plan->spec.model);
  if (!model) return model.status();
  for (const std::string& text : plan->warnings) out.warn(text);
  auto inputs = open_inputs(std::move(plan->spec), std::move(plan->pipe));
  if (!inputs) return as_input(inputs.status());
  std::unique_ptr<TrainJob> job(new TrainJob(options, out));
  job->notes_ = std::move(plan->notes);
  job->inputs_ = std::move(inputs).value();
  job->tables_ = (*model)->tables();
  const TrainSpec& s = job->spec();
  job->monitor_ = std::make_unique<TrainMonitor>(s.model.loss, s.epochs, s.shards);
  if (job->inputs_->train != nullptr) {
    warn_of_empty_files(job->inputs_->train->empty_paths(), out);
    out.detail(job->inputs_->train->description());
  }
  if (job->inputs_->valid != nullptr && s.valid.part == Part::kAll) {
    warn_of_empty_files(job->inputs_->valid->empty_paths(), out);
    if (job->inputs_->train != nullptr) {
      warn_of_shared_files(job->inputs_->train->paths(), job->inputs_->valid->paths(), out);
    }
  }
  out.detail(fmt::format("{} rows a step over {} data shards", s.batch_rows, s.shards));
  return job;
}

SchedulerOptions TrainJob::scheduler_options(std::uint32_t servers, std::uint32_t workers) {
  JobOptions wanted;
  wanted.servers = servers;
  wanted.workers = workers;
  wanted.data_shards = spec().shards;
  const Choice& sync = options_.choice("sync");
  if (sync.word == "async") wanted.consistency = Consistency::async();
  if (sync.word == "ssp")
    wanted.consistency = Consistency::bounded(static_cast<std::uint32_t>(sync.number.value_or(0)));
  const Choice& combine = options_.choice("combine");
  if (combine.word == "machine") wanted.combine = Combining::machine();
  if (combine.word == "tree") wanted.combine = Combining::tree(static_cast<std::uint32_t>(*combine.number));
  wanted.tables = tables_;
  wanted.timeout =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options_.real("timeout")));
  wanted.on_report = [this](ShardId shard, Step number, std::string_view text) {
    monitor_->add(shard, number, text);
  };
  SchedulerOptions job = thalweg::scheduler_options(wanted, Programs::kOfTrainer);
  job.job = to_text(spec());
  job.on_event = [this](const std::string& text) {
    const std::lock_guard lock(news_mutex_);
    news_.push_back(text);
  };
  return job;
}

ShardProgram TrainJob::observer() {
  return [this](ShardStore& store, const wire::Map&) { return observe(store); };
}

Task<Status> TrainJob::observe(ShardStore& store) {
  for (std::uint32_t epoch = 0; epoch < spec().epochs; ++epoch) {
    if (const Status status = (co_await store.barrier({epoch, 1})).status; !status) co_return status;
    if (Status status = monitor_->inputs_agree(); !status) co_return status;
    EpochNumbers numbers = monitor_->epoch_numbers(epoch);
    if (store.closing()) numbers.has_valid = false;  // The barrier held nobody: rows may be missing.
    const std::lock_guard lock(epochs_mutex_);
    epochs_.push_back(numbers);
  }
  if (const Status status = (co_await store.barrier(kTrainedBarrier)).status; !status) co_return status;
  // After an interrupt the barriers of passes held nobody; by now every shard has reported all.
  if (Status status = monitor_->inputs_agree(); !status) co_return status;
  const std::string bad = store.closing() ? std::string() : training_diverged(spec().model.loss, epochs_);
  if (!bad.empty()) co_return Status(Code::kNonFinite, bad);
  if (Status status = co_await save(store); !status) co_return status;
  collected_ = true;
  co_return Status::ok();
}

std::map<std::string, double> TrainJob::metrics() const {
  std::map<std::string, double> out;
  const TrainNumbers numbers = monitor_->numbers();
  out["examples"] = static_cast<double>(numbers.examples);
  if (numbers.last.weight > 0) out["train_loss"] = mean(numbers.last);
  if (numbers.progressive.weight > 0) out["progressive_loss"] = mean(numbers.progressive);
  if (epochs_.empty() || !epochs_.back().has_valid) return out;
  const EpochNumbers& last = epochs_.back();
  if (spec().model.loss == Loss::kSquared) {
    out["valid_rmse"] = last.valid.rmse;
    return out;
  }
  if (std::isfinite(last.valid_auc)) out["valid_auc"] = last.valid_auc;
  out["valid_logloss"] = last.valid.logloss;
  return out;
}

std::vector<std::string> TrainJob::take_news() {
  const std::lock_guard lock(news_mutex_);
  return std::exchange(news_, {});
}

std::size_t TrainJob::epochs_done() {
  const std::lock_guard lock(epochs_mutex_);
  return epochs_.size();
}

void TrainJob::show_epoch(std::uint32_t epoch) {
  const EpochNumbers e = [&] {
    const std::lock_guard lock(epochs_mutex_);
    return epochs_[epoch];
  }();
  const bool squared = spec().model.loss == Loss::kSquared;
  std::string line = fmt::format("epoch {}/{}  {} examples  {} {:.5f}", epoch + 1, spec().epochs, e.rows,
                                 squared ? "train rmse" : "train logloss",
                                 squared ? std::sqrt(2 * mean(e.train)) : mean(e.train));
  if (e.has_valid && squared) line += fmt::format("  held-out rmse {:.5f}", e.valid.rmse);
  if (e.has_valid && !squared) {
    line += fmt::format("  held-out auc {:.5f}  logloss {:.5f}", e.valid_auc, e.valid.logloss);
  }
  out_.note(line);
}

ProgressNumbers TrainJob::progress_numbers(const ClusterView& view, std::uint32_t servers,
                                           std::uint32_t workers) {
  const TrainNumbers numbers = monitor_->numbers();
  ProgressNumbers p;
  p.epoch = numbers.epoch + 1;
  p.epochs = spec().epochs;
  p.examples = numbers.examples;
  p.done = numbers.done >= 0 ? std::optional(numbers.done) : std::nullopt;
  const bool squared = spec().model.loss == Loss::kSquared;
  p.loss_name = squared ? "train squared loss" : "train logloss";
  p.loss = numbers.last.weight > 0 ? std::optional(mean(numbers.last)) : std::nullopt;
  p.auc = !squared && std::isfinite(numbers.sampled_auc) ? std::optional(numbers.sampled_auc) : std::nullopt;
  p.staleness = static_cast<std::uint32_t>(view.counters[CounterId::kStalenessMax]);
  p.workers = workers, p.workers_alive = view.workers;
  p.servers = servers, p.servers_alive = view.servers;
  return p;
}

Status TrainJob::run(Cluster& cluster, std::uint32_t servers, std::uint32_t workers) {
  const bool saves = options_.has("out");
  const RealClock clock;
  Progress progress(
      terminal_columns(2) > 0 && !out_.style().quiet,
      [this](std::string_view text) {
        if (!out_.style().quiet) std::fwrite(text.data(), 1, text.size(), out_.words());
        std::fflush(out_.words());
      },
      [] { return terminal_columns(2); });
  for (const std::string& text : notes_) out_.note(text);
  const auto show_news = [&] {
    for (const std::string& text : take_news()) {
      progress.clear();
      out_.note(text);
    }
  };
  bool closing = false;
  Instant nag_at = clock.now() + kNagEvery;
  std::uint32_t shown = 0;
  while (!cluster.wait(kRefresh)) {
    if (const Status status = monitor_->inputs_agree(); !status) cluster.stop(status);
    if (interrupted_ && !closing) {
      progress.clear();
      if (!cluster.missing().empty()) {
        cluster.stop({Code::kAborted, "interrupted before all nodes had joined; nothing is saved"});
      } else {
        out_.note(fmt::format("stopping{}; press Ctrl-C again to stop at once",
                              saves ? ": saving what is learnt so far" : ""));
        cluster.close();
      }
      closing = true;
    }
    for (; !closing && shown < epochs_done(); ++shown) {
      progress.clear();
      show_epoch(shown);
    }
    show_news();
    const std::string missing = cluster.missing();
    if (!missing.empty()) {
      if (clock.now() >= nag_at) {
        progress.clear();
        out_.note("waiting for " + missing);
        nag_at = clock.now() + kNagEvery;
      }
      continue;
    }
    progress.update(progress_numbers(cluster.view(), servers, workers), clock.now());
  }
  const double seconds = std::chrono::duration<double>(clock.now() - Instant{}).count();
  progress.clear();
  show_news();
  const Status status = cluster.status();
  if (status.code() == Code::kPeerLost) return with_hint(status, kLostHint);
  if (!status) return with_cause(status, inputs_->train.get());
  if (!collected_)
    return {Code::kRefused, "the job was ended before its model was collected; nothing is saved"};
  for (; !closing && shown < epochs_done(); ++shown) show_epoch(shown);
  summary(cluster.view(), seconds, closing);
  if (!saved_elsewhere_) return saved_elsewhere_;
  if (!closing) return held_out_status();
  return {Code::kAborted, saves ? "interrupted; what was learnt so far is saved"
                                : "interrupted; without --out nothing is saved"};
}

// The model is saved: it may do better on rows that are like those it was trained on.
Status TrainJob::held_out_status() const {
  const auto held_out = on_held_out_rows(spec().model.loss, epochs_);
  const std::string text = held_out ? diverged(*held_out) : std::string();
  return text.empty() ? Status::ok() : with_cause({Code::kNonFinite, text}, inputs_->train.get());
}

void TrainJob::summary(const ClusterView& view, double seconds, bool interrupted) {
  const TrainNumbers numbers = monitor_->numbers();
  const double rate = seconds > 0 ? static_cast<double>(numbers.examples) / seconds : 0;
  const std::uint64_t skipped = numbers.skipped_rows;
  std::string line = fmt::format("{} examples in {:.2f} s, {:.0f} a second; {} keys; model digest {:016x}",
                                 numbers.examples, seconds, rate, model_rows_, digest_);
  if (skipped > 0) line += fmt::format("; {} bad rows skipped", skipped);
  line += saved_to_.empty() ? "; not saved, --out DIR keeps it" : "; saved to " + saved_to_;
  out_.note(line);
  const Loss loss = spec().model.loss;
  if (const std::string text = overfitted(loss, epochs_); !text.empty()) out_.note(text);
  if (!epochs_.empty() && epochs_.back().has_valid) {
    if (const std::string text = one_label(loss, epochs_.back().valid); !text.empty()) out_.warn(text);
  }
  if (const std::string text = worse_than_none(loss, epochs_); !text.empty()) out_.warn(text);
  nlohmann::ordered_json json;
  json["examples"] = numbers.examples;
  json["seconds"] = seconds;
  json["examples_per_second"] = rate;
  const bool squared = spec().model.loss == Loss::kSquared;
  json[squared ? "train_loss" : "train_logloss"] = number(mean(numbers.last));
  json[squared ? "progressive_loss" : "progressive_logloss"] = number(mean(numbers.progressive));
  const bool none_held_out = spec().has_valid() && !interrupted && !epochs_.back().has_valid;
  if (none_held_out) {
    out_.warn(
        spec().valid.part == Part::kAll
            ? "--valid: no row of it could be read"
            : fmt::format("--valid-part {} held out no row: the input has fewer", spec().valid.part_modulus));
  }
  if (none_held_out || (!epochs_.empty() && epochs_.back().has_valid)) {
    if (squared) json["valid_rmse"] = number(epochs_.back().valid.rmse);
    if (!squared) json["valid_auc"] = number(epochs_.back().valid_auc);
    if (!squared) json["valid_logloss"] = number(epochs_.back().valid.logloss);
    const auto best = best_epoch(loss, epochs_);
    json["best_epoch"] = best ? nlohmann::ordered_json(*best + 1) : nlohmann::ordered_json();
    json["valid_calibration"] = number(epochs_.back().valid.calibration);
  }
  json["model_digest"] = fmt::format("{:016x}", digest_);
  json["model_rows"] = model_rows_;
  json["max_rss_bytes"] = max_rss_bytes();
  json["staleness_max"] = view.counters[CounterId::kStalenessMax];
  json["pushed_bytes"] = view.counters[CounterId::kPushBytes];
  json["skipped_rows"] = skipped;
  json["interrupted"] = interrupted;
  if (!saved_to_.empty()) json["model"] = saved_to_;
  out_.json(json);
}

}  // namespace thalweg
