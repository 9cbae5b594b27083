// The part of TrainJob that keeps checkpoints and goes on from one.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/hint.h"
#include "client/job/job_options.h"
#include "train/plan/algorithm_plan.h"
#include "train/train_job.h"
#include "train/warm_start/load_rows.h"

namespace thalweg {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(100),
                   kCompleteEvery = std::chrono::milliseconds(10);

Status of_state(const Status& status) {
  return status.ok() ? status : Status(status.code(), "--state: " + status.message());
}

// By the clock of the machine, which others may have as well.
std::int64_t milliseconds_of_epoch() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Duration time_since(const std::string& begun) {
  std::int64_t then = 0;
  const auto read = std::from_chars(begun.data(), begun.data() + begun.size(), then);
  if (read.ec != std::errc()) return {};
  return std::max(Duration(), Duration(std::chrono::milliseconds(milliseconds_of_epoch() - then)));
}

// Whether a job whose shards begin there begins with that checkpoint.
bool is_where(const ResumePoint& point, const std::vector<Reached>& reached, Step first) {
  return point.manifest.reached() == reached && (!reached.empty() || point.manifest.step == first);
}

}  // namespace

std::string TrainJob::inputs_text() const { return text_of_inputs(inputs_->fingerprint); }

// Where this process has no files to train on, its workers compare theirs.
Status TrainJob::check_same_data(const ResumePoint& from) {
  if (data_ != 0) return check_same_training(from, spec(), inputs_text());
  // Otherwise nobody knew when it was taken.
  if (from.manifest.inputs != inputs_text()) data_ = inputs_of_text(from.manifest.inputs);
  return check_same_training(from, spec(), {});
}

Status TrainJob::check_same_as_kept(const wire::Map& kept) const {
  if (Status same = check_same_job(kept.job, spec()); !same.ok()) return same;
  if (data_ == 0 || kept.data == 0 || kept.data == data_) return ok_status();
  return {Code::kUsage,
          "this training is not that of the job that is kept there: the data is other data: its files, or "
          "--valid's, differ in order, size or first rows"};
}

Status TrainJob::begin_with(std::optional<ResumePoint> resume, const std::vector<PassedOver>& passed_over) {
  const CheckpointOptions& wanted = options_.checkpoint;
  TrainSpec& spec = inputs_->spec;
  if (resume) {
    if (Status same = check_same_data(*resume); !same.ok()) return same;
    spec.loads = spec.loads_state = true;
    spec.reached = resume->manifest.reached();
    first_ = resume->manifest.step;
    passes_.begin(first_epoch());
    notes_.push_back(fmt::format("goes on from {}, before step {}, {} rows", resume->path,
                                 checkpoint::step_text(first_), resume->manifest.rows()));
  } else {
    if (start_ != nullptr) notes_.insert(notes_.begin(), start_->description());
    if (!wanted.resume.empty())
      notes_.push_back(fmt::format("no checkpoint in {}{}: training begins anew", wanted.directory,
                                   passed_over.empty() ? " yet" : " is whole"));
  }
  if (spec.loads && passes_on_rows(spec)) {
    return {
        Code::kUsage,
        fmt::format("--algorithm {} makes no sense with weights that come from a file: its workers pass on "
                    "rows from the first moment, before these are loaded; expected rudra-adv or another",
                    spec.algorithm)};
  }
  resume_ = std::move(resume);
  if (Status status = open_checkpoints(false); !status.ok()) return status;
  if (keeper_ != nullptr) keeper_->pass_over(passed_over);
  if (spec.shows_passes && !stage_->best() && !wanted.directory.empty())
    stage_->keep_best(BestSoFar(wanted.directory));
  if (resume_) go_on_with_best(*resume_);
  if (stage_->best() && !resume_) stage_->forget_bests();  // Of trainings before, which nobody goes on from.
  return ok_status();
}

Status TrainJob::open_checkpoints(bool of_this_job) {
  if (options_.checkpoint.directory.empty()) return ok_status();
  auto keeper = CheckpointKeeper::open(options_.checkpoint, of_this_job);
  if (!keeper) return keeper.status();
  keeper_ = *std::move(keeper);
  if (const std::string& why = keeper_->unclaimed(); !why.empty())
    say(TrainMessage::kWarning,
        fmt::format("--checkpoint: nothing keeps another training from this directory: {}", why));
  if (resume_) keeper_->begin_with(resume_->path);
  return ok_status();
}

Status TrainJob::find_and_begin() {
  std::vector<PassedOver> passed_over;
  auto resume = find_resume(options_.checkpoint, LooksAt::kFirst, passed_over);
  if (!resume) return resume.status();
  for (const PassedOver& one : passed_over) say(TrainMessage::kWarning, one.why);
  return begin_with(*std::move(resume), passed_over);
}

Status TrainJob::begin_kept(StateStore& store, KeptState& kept, bool alone) {
  if (spec().shows_passes) stage_->keep_best(BestSoFar(options_, kept.before));
  if (kept.image.empty()) {
    Status begins = find_and_begin();
    return begins.ok() ? note_begin(store, kept) : begins;
  }
  const auto job = Scheduler::imaged(kept.image);
  if (!job) return ok_status();  // It is for whoever restores it to say so.
  const bool failed = job->stopped ? !job->stopped->ok() : alone;
  const bool begins_anew = failed && !options_.checkpoint.resume.empty();
  if (!job->stopped && alone && !begins_anew) {
    return {Code::kRefused,
            "--state: all processes of the job that is kept there are gone, and what they had learnt with "
            "them; expected --checkpoint DIR --resume auto to go on from its newest checkpoint, or another "
            "directory for another job"};
  }
  if (!begins_anew) {
    before_ = time_since(kept.begun);
    return take_up(*job, kept.reports);
  }
  if (Status status = find_and_begin(); !status.ok()) return status;
  say(TrainMessage::kNote, "the job that --state has kept is over; another one takes its place there");
  if (Status status = forget_job(store, kept); !status.ok()) return status;
  return note_begin(store, kept);
}

Status TrainJob::note_begin(StateStore& store, KeptState& kept) {
  return of_state(note_begun(store, kept, std::to_string(milliseconds_of_epoch())));
}

// By what take_up() and the scheduler look at when its turn comes.
Status TrainJob::check_kept(std::string_view image, std::uint32_t servers, std::uint32_t workers) {
  const auto job = Scheduler::imaged(image);
  if (!job || job->stopped) return ok_status();
  if (Status same = check_same_as_kept(job->map); !same.ok()) return same;
  SchedulerOptions expected = scheduler_options(servers, workers);
  expected.job = job->map.job;
  expected.replicas = replicas_of_processes(options_.replicas, servers, expected.consistency);
  return Scheduler::check_same_job(*job, expected);
}

// Where it began is what it was told then: of what has been kept since, it has to read nothing again.
Status TrainJob::take_up(const Scheduler::Imaged& job, const std::vector<KeptReport>& reports) {
  if (Status same = of_state(check_same_as_kept(job.map)); !same.ok()) return same;
  const auto began = train_spec_from_text(job.map.job);
  if (!began) return began.status();
  TrainSpec& spec = inputs_->spec;
  const bool may_begin_without = spec.loads;  // There is more that it may load.
  spec.loads = began->loads;
  spec.loads_state = began->loads_state;
  spec.reached = began->reached;
  first_ = job.map.first;
  if (data_ == 0) data_ = job.map.data;
  passes_.begin(first_epoch());
  loaded_ = job.loaded;
  if (spec.loads && !loaded_ && !options_.checkpoint.resume.empty()) {
    std::vector<PassedOver> passed_over;  // Whoever began the job has told of them.
    auto resume = find_resume(options_.checkpoint, LooksAt::kFirst, passed_over);
    if (!resume) return resume.status();
    if (*resume ? !is_where(**resume, spec.reached, first_) : !may_begin_without)
      return {Code::kUsage, "--resume: the checkpoint that the job of --state began to load is gone"};
    resume_ = *std::move(resume);
  }
  if (Status status = open_checkpoints(true); !status.ok()) return status;
  if (keeper_ != nullptr && !keeper_->newest().empty()) {
    const auto newest = checkpoint::open(SystemDisk(), keeper_->newest());
    if (newest && spec.shows_passes) passes_.remember(history_from_text(newest->history));
  }
  return take_up_best(job, reports);
}

// What the model begins with.
Task<Status> TrainJob::load(ShardStore& store) {
  std::vector<TableSpec> tables = server_tables(spec(), tables_);
  if (resume_) {
    Status loaded = co_await load_checkpoint(store, *resume_, std::move(tables));
    const bool of_files = loaded.code() == Code::kModel || loaded.code() == Code::kIo;
    found_damage_ = of_files && resume_->looks_at == LooksAt::kLoad;
    co_return loaded;
  }
  if (start_ != nullptr)
    co_return co_await load_rows(store, start_->model(), std::move(tables), start_->with_state());
  co_return co_await load_initial(store, *model_, std::move(tables));
}

bool TrainJob::wait(Cluster& cluster) {
  if (keeper_ == nullptr) return cluster.wait(kLookEvery);
  for (Duration waited{}; waited < kLookEvery; waited += kCompleteEvery) {
    if (cluster.wait(kCompleteEvery)) return true;
    keeper_->work(cluster, [this](TrainMessage kind, const std::string& line) { say(kind, line); });
  }
  return false;
}

void TrainJob::end_by_checkpoint(Cluster& cluster) {
  if (keeper_->completed() > ending_->completed) {
    cluster.stop(
        {Code::kAborted, "interrupted; what was learnt so far is in the checkpoint " + keeper_->newest()});
  } else if (keeper_->failed() > ending_->failed || now() >= ending_->until) {
    end_without_checkpoint(
        cluster, keeper_->failed() > ending_->failed ? keeper_->refused().message() : "it took too long");
  }
}

// A model may have a disk of its own.
void TrainJob::end_without_checkpoint(Cluster& cluster, const std::string& why) {
  const std::string& newest = keeper_->newest();
  const std::string there = newest.empty() ? "there is none" : "the newest is " + newest;
  if (options_.out.empty())
    return cluster.stop(
        {Code::kAborted, fmt::format("interrupted, and no checkpoint could be taken: {}; {}", why, there)});
  say(TrainMessage::kWarning,
      fmt::format("no last checkpoint: {}; {}, so that the model is saved in its place", why, there));
  ending_.reset();
  unkept_until_ = now() + kUnkeptGrace;
  cluster.close();
}

Status TrainJob::with_way_on(Status status) const {
  if (keeper_->newest().empty()) return status;
  const std::string& command = options_.checkpoint.resume_command;
  return with_hint(status, fmt::format("go on from {} by {}", keeper_->newest(),
                                       command.empty() ? "the same with --resume auto" : command));
}

}  // namespace thalweg
