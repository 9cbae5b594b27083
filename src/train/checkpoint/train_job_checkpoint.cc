// The part of TrainJob that keeps checkpoints and goes on from one.
#include <fmt/format.h>

#include <utility>

#include "base/hint.h"
#include "train/algorithm_plan.h"
#include "train/train_job.h"
#include "train/warm_start/load_rows.h"

namespace thalweg {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(100),
                   kCompleteEvery = std::chrono::milliseconds(10);

}  // namespace

std::string TrainJob::inputs_text() const { return fmt::format("{:016x}", inputs_->fingerprint); }

Status TrainJob::open_checkpoints(std::optional<ResumePoint> resume) {
  const CheckpointOptions& wanted = options_.checkpoint;
  if (resume) {
    if (Status same = check_same_training(*resume, spec(), inputs_text()); !same.ok()) return same;
    notes_.push_back(fmt::format("goes on from {}, before step {}, {} rows", resume->path,
                                 checkpoint::step_text(resume->manifest.step), resume->manifest.rows()));
  } else if (!wanted.resume.empty()) {
    notes_.push_back(fmt::format("no checkpoint in {} yet: training begins anew", wanted.directory));
  }
  resume_ = std::move(resume);
  if (wanted.directory.empty()) return ok_status();
  auto keeper = CheckpointKeeper::open(wanted);
  if (!keeper) return keeper.status();
  keeper_ = *std::move(keeper);
  if (resume_) keeper_->begin_with(resume_->path);
  return ok_status();
}

// What the model begins with.
Task<Status> TrainJob::load(ShardStore& store) {
  std::vector<TableSpec> tables = server_tables(spec(), tables_);
  if (resume_) co_return co_await load_checkpoint(store, *resume_, std::move(tables));
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
    cluster.stop(
        {Code::kAborted,
         fmt::format("interrupted, and no checkpoint could be taken; {}",
                     keeper_->newest().empty() ? "there is none" : "the newest is " + keeper_->newest())});
  }
}

Status TrainJob::with_way_on(Status status) const {
  if (keeper_->newest().empty()) return status;
  const std::string& command = options_.checkpoint.resume_command;
  return with_hint(std::move(status), fmt::format("go on from {} by {}", keeper_->newest(),
                                                  command.empty() ? "the same with --resume auto" : command));
}

}  // namespace thalweg
