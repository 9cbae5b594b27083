#include "train/train_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "base/limits.h"
#include "client/job/job_options.h"
#include "data/input_words.h"
#include "net/system_disk.h"
#include "train/advice/train_advice.h"
#include "train/plan/algorithm_plan.h"
#include "train/plan/chosen_options.h"
#include "train/plan/dense_room.h"
#include "train/plan/train_plan.h"
#include "train/report/told_pass.h"
#include "train/report/train_costs.h"
#include "train/rows/key_ages.h"
#include "train/warm_start/load_rows.h"

namespace thalweg {
namespace {

constexpr Duration kCheckpointGrace = std::chrono::seconds(20);  // For the last one.
constexpr Duration kProgressEvery = std::chrono::milliseconds(100);

Status check_times(const TrainerOptions& options) {
  const auto seconds = [](Duration time) { return std::chrono::duration<double>(time).count(); };
  const std::tuple<const char*, Duration, Duration> above_zero[] = {
      {"--timeout", options.timeout, limits::kTimeoutMax},
      {"--grace", options.grace, limits::kGraceMax},
      {"--command-timeout", options.more.command_timeout, limits::kTimeoutMax}};
  for (const auto& [flag, time, most] : above_zero) {
    if (time > Duration{0} && time <= most) continue;
    return {Code::kUsage, fmt::format("{} {} s; expected more than 0 and at most {} s", flag, seconds(time),
                                      seconds(most))};
  }
  if (options.checkpoint.every < Duration{0}) {
    return {Code::kUsage,
            fmt::format("--checkpoint-every {} s; expected none below 0", seconds(options.checkpoint.every))};
  }
  if (options.silence == Duration{0} ||
      (options.silence >= limits::kSilenceMin && options.silence <= options.timeout))
    return ok_status();
  return {Code::kUsage,
          fmt::format("--silence {} s; expected {} s at least, and at most --timeout, {} s",
                      seconds(options.silence), seconds(limits::kSilenceMin), seconds(options.timeout))};
}

// Whether servers have all that is learnt.
Status check_can_keep(const TrainerOptions& options, const TrainSpec& spec) {
  if (options.checkpoint.directory.empty() && options.checkpoint.resume.empty()) return ok_status();
  if (has_own_state(spec)) {
    return {
        Code::kUsage,
        fmt::format("--checkpoint and --resume are for training whose servers have all that is learnt; data "
                    "shards of --algorithm {}{} keep some of it to themselves",
                    spec.algorithm, spec.exchange.empty() ? "" : " --exchange " + spec.exchange)};
  }
  if (passes_on_rows(spec)) {
    return {Code::kUsage,
            fmt::format("--checkpoint and --resume are for training that can begin with rows from a file; "
                        "workers of --algorithm {} pass on rows from the first moment, before these are "
                        "loaded; expected rudra-adv or another",
                        spec.algorithm)};
  }
  if (std::find(options.files.begin(), options.files.end(), "-") == options.files.end()) return ok_status();
  return {Code::kUsage, "--checkpoint and --resume need files: standard input cannot be read again"};
}

// Whether all that the scheduler's process has of a job can be found again.
Status check_state(const TrainerOptions& options, const TrainSpec& spec) {
  const auto no = [](const std::string& what, const std::string& why) {
    return Status(Code::kUsage, fmt::format("--state cannot be combined with {}: {}", what, why));
  };
  if (options.state.empty()) return ok_status();
  if (!spec.exchange.empty()) return no("--exchange", "the loss of any process of such a job ends it");
  return spec.shows_passes ? BestSoFar::check(options) : ok_status();
}

// The model takes the place of all that is at `out`.
Status check_out(const TrainerOptions& options) {
  const SystemDisk disk;
  if (Status status = check_model_destination(disk, options.out); !status.ok()) return status;
  const std::filesystem::path out = disk.resolve(options.out);
  for (const auto& [flag, place] :
       {std::pair("--checkpoint", options.checkpoint.directory), std::pair("--state", options.state)}) {
    if (place.empty()) continue;
    const std::filesystem::path from_out = std::filesystem::path(disk.resolve(place)).lexically_relative(out);
    if (from_out.empty() || *from_out.begin() == "..") continue;
    return {Code::kUsage, fmt::format("{} {} is within --out {}, all of which the model takes the place of; "
                                      "expected a directory elsewhere",
                                      flag, place, options.out)};
  }
  return ok_status();
}

}  // namespace

void TrainJob::say(TrainMessage kind, const std::string& line) const {
  if (options_.on_message && !line.empty()) options_.on_message(kind, line);
}

Result<std::unique_ptr<TrainJob>> TrainJob::create(const TrainerOptions& given, LooksAt looks_at) {
  if (Status status = check_times(given); !status.ok()) return status;
  if (!given.out.empty()) {
    if (Status status = check_out(given); !status.ok()) return status;
  }
  std::vector<PassedOver> passed_over;
  // Where there is a state, it says where the job goes on.
  auto resume = given.state.empty() ? find_resume(given.checkpoint, looks_at, passed_over)
                                    : std::optional<ResumePoint>();
  if (!resume) return resume.status();
  auto start = WarmStart::open(given);
  if (!start) return start.status();
  const auto options = *start != nullptr ? (*start)->settle(given) : given;
  if (!options) return options.status();
  auto plan = plan_training(*options, start->get());
  if (!plan) return plan.status();
  auto model = make_model(plan->spec.model);
  if (!model) return model.status();
  if (*start != nullptr) {
    if (Status status = (*start)->check(plan->spec, job_tables(plan->spec, **model)); !status.ok())
      return status;
  }
  if (Status room = check_dense_room(plan->spec, job_tables(plan->spec, **model), options->memory);
      !room.ok())
    return room;
  plan->spec.loads = plan->spec.loads || has_initial(**model);
  if (const std::string& script = plan->spec.model.script; !script.empty()) {
    auto hash = hash_of(script);
    if (!hash) return hash.status();
    plan->spec.script_hash = std::move(hash).value();
  }
  std::unique_ptr<TrainJob> job(new TrainJob(chosen(*options, *plan)));
  if (Status status = check_can_keep(job->options_, plan->spec); !status.ok()) return status;
  if (Status status = check_state(job->options_, plan->spec); !status.ok()) return status;
  job->start_ = std::move(start).value();
  job->model_ = std::move(model).value();
  for (const PassedOver& one : passed_over) job->say(TrainMessage::kWarning, one.why);
  const bool is_new = looks_at == LooksAt::kLoad;
  if (is_new) {
    for (const std::string& text : plan->warnings) job->say(TrainMessage::kWarning, text);
  }
  auto inputs = open_inputs(std::move(plan->spec), std::move(plan->pipe));
  if (!inputs) return as_input(inputs.status());
  if (is_new) job->notes_ = std::move(plan->notes);
  job->rows_without_click_ = plan->rows_without_click;
  job->inputs_ = std::move(inputs).value();
  if (job->inputs_->train != nullptr) job->data_ = job->inputs_->fingerprint;
  job->tables_ = job_tables(job->spec(), *job->model_);
  job->stage_.emplace(job->stage_of_this());
  if (given.state.empty()) {
    if (Status status = job->begin_with(*std::move(resume), passed_over); !status.ok()) return status;
  }
  const TrainSpec& s = job->spec();
  job->monitor_ = job->new_monitor();
  if (!is_new) return job;
  job->warn_of_inputs();
  job->say(TrainMessage::kDetail, fmt::format("{} rows a step over {} data shards", s.batch_rows, s.shards));
  return job;
}

std::unique_ptr<TrainMonitor> TrainJob::new_monitor() const {
  const TrainSpec& s = spec();
  auto monitor = std::make_unique<TrainMonitor>(s.model.loss, s.epochs, s.shards,
                                                s.train.shuffle.order != RowOrder::kFiles);
  if (resume_) monitor->begin_within_pass();
  return monitor;
}

Status TrainJob::count_keys() const {
  KeyCounting* const counting = inputs_->counting.get();
  return counting == nullptr ? ok_status() : counting->wait([this] { return closing_.load(); });
}

void TrainJob::warn_of_inputs() const {
  const DataSet* const train = inputs_->train.get();
  const DataSet* const valid = spec().valid.is_of_part() ? nullptr : inputs_->valid.get();
  for (const DataSet* const data : {train, valid}) {
    if (data == nullptr) continue;
    say(TrainMessage::kWarning, empty_files(data->empty_paths()));
    say(TrainMessage::kNote, reordered_files(*data));
  }
  if (train != nullptr) say(TrainMessage::kDetail, train->description());
  if (train && valid) say(TrainMessage::kWarning, shared_files(train->paths(), valid->paths()));
}

SchedulerOptions TrainJob::scheduler_options(std::uint32_t servers, std::uint32_t workers) {
  real_clock_ = RealClock();
  JobOptions wanted;
  wanted.servers = servers;
  wanted.replicas = options_.replicas;
  wanted.workers = workers;
  wanted.data_shards = spec().shards;
  wanted.consistency = *options_.consistency;
  wanted.combine = options_.combine;
  wanted.tables = server_tables(spec(), tables_);
  wanted.timeout = options_.timeout;
  wanted.silence = options_.silence;
  wanted.on_report = [this](ShardId shard, ReportId id, std::string_view text) {
    if (monitor_->add(shard, id, text)) return;
    const std::lock_guard lock(news_mutex_);
    if (std::exchange(told_unread_, true)) return;
    news_.push_back(fmt::format(
        "a report of data shard {} cannot be read: rows and losses that are told lack it", shard.value));
  };
  SchedulerOptions job = thalweg::scheduler_options(wanted);
  job.job = to_text(spec());
  job.data = [this] { return data(); };
  job.shards_stay = has_own_state(spec());
  if (spec().reached.empty()) job.first = first_;
  if (resume_) job.checkpoint.newest = resume_->manifest.step;
  if (keeper_ != nullptr) {
    checkpoint::Manifest about;
    about.job = job.job;
    about.options = options_to_store();
    const auto history = [this](std::uint32_t pass) { return passes_.history_before(pass); };
    const auto inputs = [this] { return data() != 0 ? text_of_inputs(data()) : inputs_text(); };
    keeper_->follow(job, std::move(about), inputs,
                    spec().shows_passes ? history : CheckpointKeeper::History());
  }
  job.on_event = [this](const std::string& text) {
    const std::lock_guard lock(news_mutex_);
    news_.push_back(text);
  };
  return job;
}

void TrainJob::share_rows(std::shared_ptr<KeptPasses> passes, std::shared_ptr<KeyCounting> counting) {
  inputs_->kept = passes->room();
  inputs_->passes = std::move(passes);
  inputs_->counting = std::move(counting);
}

void TrainJob::live_by(std::function<Instant()> clock, std::function<void()> on_pass) {
  clock_ = std::move(clock);
  on_pass_ = std::move(on_pass);
}

ShardProgram TrainJob::observer() {
  return [this](ShardStore& store, const wire::Map&) { return observe(store); };
}

Task<Status> TrainJob::observe(ShardStore& store) {
  if (spec().loads && !loaded_) {
    if (Status loaded = co_await load(store); !loaded.ok()) co_return loaded;
    if (Status loaded = (co_await store.barrier(kLoadedBarrier)).status; !loaded.ok()) co_return loaded;
  }
  if (const Status status = (co_await store.barrier(kReadersBarrier)).status; !status.ok()) co_return status;
  begun_ = before_ == Duration() ? now() : Instant{};
  std::uint32_t epoch = first_epoch();
  for (; epoch < spec().epochs && !enough_; ++epoch) {
    if (const Status status = (co_await store.barrier({epoch, 1})).status; !status.ok()) co_return status;
    if (Status status = monitor_->inputs_agree(); !status.ok()) co_return status;
    // A barrier holds nobody then: rows may be missing, unless another scheduler has closed the job later.
    const bool may_be_whole = stage_->best() && !options_.state.empty() && monitor_->is_scored(epoch);
    if (store.closing() && !may_be_whole) break;
    add_pass(monitor_->epoch_numbers(epoch));
    if (on_pass_) on_pass_();
    if (!spec().shows_passes) continue;
    if (Status status = co_await show_pass(store, epoch); !status.ok()) co_return status;
  }
  if (const Status status = (co_await store.barrier(kLastBarrier)).status; !status.ok()) co_return status;
  trained_ = now();
  // After an early end the barriers of passes held nobody; by now every shard has reported all.
  if (Status status = monitor_->inputs_agree(); !status.ok()) co_return status;
  if (store.closing() && !enough_) add_cut_short(epoch);
  const bool whole = !store.closing() && !stage_->is_staged();
  const std::string bad = whole ? training_diverged(JudgedBy(spec().model), passes_.all()) : std::string();
  if (!bad.empty()) co_return Status(Code::kNonFinite, bad);
  if (Status status = co_await save(store); !status.ok()) co_return status;
  collected_ = true;
  co_return ok_status();
}

void TrainJob::add_cut_short(std::uint32_t from) {
  for (std::uint32_t epoch = from; epoch < monitor_->passes_begun(); ++epoch) {
    EpochNumbers numbers = monitor_->epoch_numbers(epoch);
    numbers.cut_short = true;
    numbers.has_valid = false;
    add_pass(numbers);
  }
}

void TrainJob::add_pass(EpochNumbers numbers) {
  numbers.ended = now();
  passes_.add(numbers);
}

std::vector<std::string> TrainJob::take_news() {
  const std::lock_guard lock(news_mutex_);
  return std::exchange(news_, {});
}

std::size_t TrainJob::tell_epochs(std::size_t told, Cluster& cluster) {
  const std::size_t end = passes_.size();  // More may come while these are told, and as fast.
  for (; told < end; ++told) {
    const EpochNumbers numbers = passes_.at(told);
    if (numbers.cut_short) break;
    TrainEpoch epoch = told_pass(numbers, passes_.number(told), spec().model.loss, options_.more.metrics);
    epoch.costs = costs_of(cluster.view().counters, epoch.costs.steps);
    if (options_.on_epoch) options_.on_epoch(epoch);
    if (!options_.after_epoch || enough_) continue;
    if (!options_.after_epoch(epoch)) enough_ = told_to_end_ = true;
    passes_.note_told(told + 1);
  }
  return told;
}

TrainResult TrainJob::run(Cluster& cluster, std::uint32_t servers, std::uint32_t workers) {
  const auto elapsed = [this] { return now() - Instant{}; };
  for (const std::string& text : notes_) say(TrainMessage::kNote, text);
  bool closed = false, asked = false;
  Duration next{};
  std::size_t told = passes_.remembered();
  const auto tell_news = [this] {
    for (const std::string& text : take_news()) say(TrainMessage::kNote, text);
  };
  while (!wait(cluster)) {
    if (const Status status = monitor_->inputs_agree(); !status.ok()) cluster.stop(status);
    const std::string missing = cluster.missing();
    if (closing_ && !closed) {
      closed = true;
      unkept_until_ = now() + kUnkeptGrace;
      if (missing.empty() && keeper_ != nullptr) {
        ending_ = Ending{now() + kCheckpointGrace, keeper_->completed(), keeper_->failed()};
        cluster.end_soon();
        cluster.ask_checkpoint();
      } else if (missing.empty()) {
        cluster.close();
      } else {
        cluster.stop({Code::kAborted, "interrupted before all nodes had joined; nothing is saved"});
      }
    }
    if (!closed) told = tell_epochs(told, cluster);
    if (enough_ && !std::exchange(asked, true)) cluster.close();
    tell_news();
    if (ending_) end_by_checkpoint(cluster);
    if (closed) end_unkept(cluster);
    // It looks more often where passes are told at once.
    if (!options_.on_progress || (options_.after_epoch && elapsed() < next)) continue;
    next = elapsed() + kProgressEvery;
    TrainProgress shown = missing.empty() ? progress(cluster.view()) : TrainProgress();
    shown.elapsed = elapsed();
    shown.missing = missing;
    shown.workers = workers, shown.servers = servers;
    options_.on_progress(shown);
  }
  TrainResult result;
  result.seconds = std::chrono::duration<double>(elapsed()).count();
  tell_news();
  if (keeper_ != nullptr) keeper_->finish();
  closed = closed && !ending_;  // That took a checkpoint, or came to its end.
  const Status status = cluster.status();
  result.complete = status.ok() && collected_;
  if (result.complete) {
    if (stage_->best() && keeper_ != nullptr)
      forget_other_bests();
    else if (stage_->best())
      stage_->forget_bests();
    if (!closed) tell_epochs(told, cluster);  // The job is over: no more come.
    sum_up(cluster.view(), closed, result);
  }
  result.status = outcome(status, closed);
  return result;
}

void TrainJob::end_unkept(Cluster& cluster) {
  if (now() < unkept_until_) return;
  if (const std::string why = cluster.trouble(); !why.empty())
    cluster.stop(
        {Code::kAborted, "interrupted, and no more is saved: the scheduler's state cannot be kept: " + why});
}

}  // namespace thalweg
