// The part of TrainJob that settles which model is kept, and is saved.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/barriers.h"
#include "net/system_disk.h"
#include "train/advice/train_advice.h"
#include "train/plan/algorithm_plan.h"
#include "train/saved/learnt_rows.h"
#include "train/saved/pass_history.h"
#include "train/saved/training_record.h"
#include "train/train_job.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kStepsTell = 16;  // Of a pass, by whose latter half a model is judged.

}  // namespace

ModelStage::Job TrainJob::stage_of_this() {
  return {options_,
          spec(),
          tables_,
          passes_,
          options_to_store(),
          [this](TrainMessage kind, const std::string& line) { say(kind, line); }};
}

// What reading rows for the model needs is there whoever trains it.
std::map<std::string, std::string> TrainJob::options_to_store() const {
  auto stored = options_.stored;
  const ReadOptions& read = spec().train;
  stored["model"] = spec().model.name;
  if (read.hash_bits != 0) stored.emplace("hash-bits", std::to_string(read.hash_bits));
  if (!read.interactions.empty()) stored.emplace("interactions", read.interactions);
  if (!read.label_column.empty()) stored.emplace("label-column", read.label_column);
  if (!read.weight_column.empty()) stored.emplace("weight-column", read.weight_column);
  const std::string& columns = read.known_columns.empty() ? read.columns : read.known_columns;
  if (!columns.empty()) stored["columns"] = columns;
  if (inputs_->train != nullptr)
    stored["ids"] = inputs_->train->format().ids;
  else if (start_ && !start_->ids().empty())
    stored["ids"] = start_->ids();
  if (options_.raw_values) stored["raw-values"] = "true";
  if (spec().expire_after != 0) stored["expire-after"] = std::to_string(spec().expire_after);
  if (!read.value_scales.empty()) stored["value-scales"] = read.value_scales;
  return stored;
}

// What that is follows from the reports, as it did for the scheduler before.
Status TrainJob::take_up_best(const Scheduler::Imaged& job, const std::vector<KeptReport>& reports) {
  if (!stage_->best() || job.stopped) return ok_status();
  const std::unique_ptr<TrainMonitor> told = new_monitor();
  for (const KeptReport& report : reports) told->add(report.shard, report.number, report.text);
  std::vector<EpochNumbers> passes = passes_.all();
  for (std::uint32_t pass = first_epoch(); pass < spec().epochs; ++pass) {
    // Where the job was to end early, barriers have opened for that.
    if (!job.open.contains(observers_barrier(pass)) || !told->is_scored(pass)) break;
    passes.push_back(told->epoch_numbers(pass));
  }
  shown_ = static_cast<std::uint32_t>(passes.size());
  const auto best = best_epoch(spec().model.loss, passes);
  if (!best) return ok_status();
  auto found = stage_->best()->find(passes_.number(*best));
  if (found) {
    stage_->keep(*std::move(found), *best + 1);
    return ok_status();
  }
  // It ended just when that was to be kept: servers have that pass's model yet.
  if (job.map.closing && *best + 1 == shown_) {
    --shown_;
    return ok_status();
  }
  return {found.status().code(), "--state: " + found.status().message()};
}

void TrainJob::go_on_with_best(const ResumePoint& from) {
  if (!spec().shows_passes) return;
  std::string why;
  if (!passes_.remember(history_from_text(from.manifest.history))) {
    why = "the checkpoint tells of no held-out rows in passes before it";
  } else if (const auto best = best_epoch(spec().model.loss, passes_.all())) {
    const std::uint32_t pass = passes_.number(*best);
    const BestSoFar there(std::filesystem::path(SystemDisk().resolve(from.path)).parent_path().string());
    const auto found = there.find(pass);
    if (found) return stage_->go_on_with(*found, pass, *best + 1);
    // It was forgotten for a better one while the checkpoint was taken: in lockstep that one comes again.
    const bool comes_again = from.manifest.reached().empty() && there.has_behind(first_epoch());
    if (!comes_again) why = found.status().message();
  }
  if (why.empty()) return;
  passes_.forget();
  say(TrainMessage::kWarning,
      fmt::format("--resume: {}; none of the {} passes before counts as the best", why, first_epoch()));
}

void TrainJob::forget_other_bests() {
  std::set<std::uint64_t> needed;
  if (keeper_ != nullptr) {
    for (const std::uint32_t before : keeper_->passes_before()) {
      const std::vector<EpochNumbers>& all = passes_.all();
      const std::size_t known = before < passes_.first() ? 0 : before - passes_.first();
      const auto counts = std::span(all).first(std::min(known, all.size()));
      if (const auto best = best_epoch(spec().model.loss, {counts.begin(), counts.end()}))
        needed.insert(passes_.number(*best));
    }
  }
  stage_->forget_other_bests(needed);
}

// Whether the pass just ended was the best is settled while the shards wait for the observer.
Task<Status> TrainJob::show_pass(ShardStore& store, std::uint32_t epoch) {
  const auto best = best_epoch(spec().model.loss, passes_.all());
  const std::size_t newest = passes_.all().size() - 1;
  if (*options_.keep_best && best == newest && newest >= shown_) {
    if (Status status = co_await stage_->stage(store); !status.ok()) co_return status;
  }
  if (options_.after_epoch) {
    if (Status status = co_await hear(store); !status.ok()) co_return status;
  }
  const bool waited = scored_since_best(spec().model.loss, passes_.all()) >= options_.patience;
  if (options_.patience != 0 && waited) enough_ = true;
  if (enough_) co_return ok_status();  // The end that is asked for lets the shards go.
  const Status shown = (co_await store.barrier(observers_barrier(epoch))).status;
  // Now it is known by whoever takes the job up which one is the best.
  if (shown.ok() && stage_->best() && stage_->is_kept()) forget_other_bests();
  co_return shown;
}

// The thread of run() may be the one that has this turn.
Task<Status> TrainJob::hear(ShardStore& store) {
  constexpr auto kPatience = std::chrono::milliseconds(1);
  while (!passes_.all_told() && !store.closing()) {
    if (const Status status = (co_await store.yield()).status; !status.ok()) co_return status;
    passes_.wait_told(kPatience);
  }
  co_return ok_status();
}

Task<Status> TrainJob::save(ShardStore& store) {
  if (!stage_->is_staged()) {
    if (Status status = co_await stage_->stage(store); !status.ok()) co_return status;
  }
  if (Status status = stage_->read_kept(); !status.ok()) co_return status;
  if (options_.out.empty()) co_return ok_status();
  if (Status status = co_await judge(store); !status.ok()) co_return status;
  if (!not_kept_.empty() || is_outdone()) {
    stage_->drop();
    co_return ok_status();
  }
  co_return co_await stage_->commit(store, metrics(), record());
}

// Without held-out rows each row was scored before it was learnt, mostly by a model that had yet to learn, or
// by a replica of it; what is bad by the one, or good by the other, is measured once more.
Task<Status> TrainJob::judge(ShardStore& store) {
  if (options_.keep_bad) co_return ok_status();
  const JudgedBy by(spec().model);
  const auto kept = stage_->passes();
  not_kept_ = nothing_weighed(kept);
  if (!not_kept_.empty()) co_return ok_status();
  not_kept_ = worse_than_chance(by, kept);
  const bool is_known = kept.empty() || kept.back().has_valid;
  if (!is_known && (!not_kept_.empty() || scores_by_replica(spec()))) {
    if (Status status = co_await measure_learnt_rows(store, *inputs_, learnt_); !status.ok())
      co_return status;
    // Of a pipe of few rows nobody can say.
    if (!learnt_ && kept.back().steps < kStepsTell) not_kept_.clear();
    if (learnt_) not_kept_ = worse_than_chance("learnt rows'", by, *learnt_);
  }
  std::string with_causes = not_kept_.empty() ? std::string() : worse_by(by, kept, learnt_);
  if (!with_causes.empty()) not_kept_ = std::move(with_causes);
  co_return ok_status();
}

TrainingRecord TrainJob::record() const {
  TrainingRecord record = training_record(spec(), inputs_->train.get());
  if (const auto best = best_epoch(spec().model.loss, passes_.all()))
    record.best_epoch = passes_.number(*best);
  const std::vector<EpochNumbers>& all = passes_.all();
  const auto whole = std::count_if(all.begin(), all.end(), [](const auto& pass) { return !pass.cut_short; });
  record.learnt_epochs = passes_.first() + static_cast<std::uint64_t>(whole);
  const auto kept = stage_->passes();
  if (!kept.empty() && !kept.back().cut_short) record.kept_epoch = passes_.number(kept.size() - 1);
  return record;
}

// Of several jobs, of which the best is saved.
bool TrainJob::is_outdone() const {
  if (!save_below_) return false;
  const auto kept = stage_->passes();
  return kept.empty() || !kept.back().has_valid ||
         !(mean_of(kept.back().valid.sums.loss, kept.back().valid) < *save_below_);
}

}  // namespace thalweg
