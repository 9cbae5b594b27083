// The part of TrainJob that keeps the best model where whoever takes the job up finds it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>
#include <utility>

#include "base/barriers.h"
#include "base/mix.h"
#include "train/advice/train_advice.h"
#include "train/saved/pass_history.h"
#include "train/saved/training_record.h"
#include "train/train_job.h"

namespace thalweg {
namespace {

constexpr std::size_t kFloatsATurn = std::size_t{1} << 20;

}  // namespace

// What that is follows from the reports, as it did for the scheduler before.
Status TrainJob::take_up_best(const Scheduler::Imaged& job, const std::vector<KeptReport>& reports) {
  if (!best_ || job.stopped) return ok_status();
  const std::unique_ptr<TrainMonitor> told = new_monitor();
  for (const KeptReport& report : reports) told->add(report.shard, report.number, report.text);
  std::vector<EpochNumbers> epochs = epochs_;
  for (std::uint32_t pass = first_epoch(); pass < spec().epochs; ++pass) {
    // Where the job was to end early, barriers have opened for that.
    if (!job.open.contains(observers_barrier(pass)) || !told->is_scored(pass)) break;
    epochs.push_back(told->epoch_numbers(pass));
  }
  shown_ = static_cast<std::uint32_t>(epochs.size());
  const auto best = best_epoch(spec().model.loss, epochs);
  if (!best) return ok_status();
  auto found = best_->find(first_known() + *best + 1);
  if (found) {
    keep_staged(*std::move(found), *best + 1);
    return ok_status();
  }
  // It ended just when that was to be kept: servers have that pass's model yet.
  if (job.map.closing && *best + 1 == shown_) {
    --shown_;
    return ok_status();
  }
  return {found.status().code(), "--state: " + found.status().message()};
}

bool TrainJob::remember_passes(const checkpoint::Manifest& from) {
  const std::uint32_t before = first_epoch();
  PassHistory history = history_from_text(from.history);
  if (!spec().shows_passes || history.first >= before || history.end() < before) return before == 0;
  remembered_ = before - history.first;
  history.passes.resize(remembered_);
  epochs_ = std::move(history.passes);
  return true;
}

void TrainJob::keep_staged(std::string place, std::size_t epochs) {
  Staged staged;
  staged.disk = std::make_unique<SystemDisk>();
  staged.epochs = epochs;
  staged.kept_at = std::move(place);
  staged_.reset();  // Its writer goes before its disk.
  staged_ = std::move(staged);
}

std::string TrainJob::brought_along(const std::string& model, std::uint64_t pass) {
  const auto directory_of = [](const std::string& path) { return std::filesystem::path(path).parent_path(); };
  if (!best_ || directory_of(model) == directory_of(best_->place(pass))) return model;
  const Status copied = best_->take_in(model, pass);
  if (copied.ok()) return best_->place(pass);
  say(TrainMessage::kWarning, copied.message());
  return model;
}

void TrainJob::go_on_with_best(const ResumePoint& from) {
  if (!spec().shows_passes) return;
  std::string why;
  if (!remember_passes(from.manifest)) {
    why = "the checkpoint tells of no held-out rows in passes before it";
  } else if (const auto best = best_epoch(spec().model.loss, epochs_)) {
    const std::uint64_t pass = first_known() + *best + 1;
    const BestSoFar there(std::filesystem::path(SystemDisk().resolve(from.path)).parent_path().string());
    const auto found = there.find(pass);
    if (found) return keep_staged(brought_along(*found, pass), *best + 1);
    // It was forgotten for a better one while the checkpoint was taken: in lockstep that one comes again.
    const bool comes_again = from.manifest.reached().empty() && there.has_behind(first_epoch());
    if (!comes_again) why = found.status().message();
  }
  if (why.empty()) return;
  epochs_.clear();
  remembered_ = 0;
  say(TrainMessage::kWarning,
      fmt::format("--resume: {}; none of the {} passes before counts as the best", why, first_epoch()));
}

std::string TrainJob::history_before(std::uint32_t epoch) {
  const std::lock_guard lock(epochs_mutex_);
  PassHistory history{first_known(), epochs_};
  if (epoch <= history.first || epoch > history.end()) return {};
  history.passes.resize(epoch - history.first);
  return to_text(history);
}

void TrainJob::forget_other_bests(const std::string& place) {
  std::set<std::uint64_t> needed;
  if (keeper_ != nullptr) {
    for (const std::uint32_t before : keeper_->passes_before()) {
      const std::size_t known = before < first_known() ? 0 : before - first_known();
      const auto counts = std::span(epochs_).first(std::min(known, epochs_.size()));
      if (const auto best = best_epoch(spec().model.loss, {counts.begin(), counts.end()}))
        needed.insert(first_known() + *best + 1);
    }
  }
  best_->forget_others(place, needed);
}

Task<Status> TrainJob::stage_best(ShardStore& store) {
  Staged staged;
  staged.disk = std::make_unique<SystemDisk>();
  const std::string place = best_->place(first_known() + epochs_.size());
  if (Status status = co_await stage_at(store, place, staged); !status.ok()) co_return status;
  const auto kept = staged.writer->commit(spec().model, options_to_store(), {});
  if (!kept) co_return kept.status();
  keep_staged(place, epochs_.size());
  co_return ok_status();
}

Status TrainJob::read_kept() {
  if (staged_->kept_at.empty()) return ok_status();
  auto reader = ModelReader::open(*staged_->disk, staged_->kept_at);
  if (!reader) return reader.status();
  digest_ = reader->manifest().digest;
  model_rows_ = model_rows(reader->manifest());
  staged_->kept = *std::move(reader);
  return ok_status();
}

Task<Status> TrainJob::copy_tables(const ModelReader& from, ModelWriter& to, ShardStore& store) {
  std::vector<std::uint64_t> placed;
  std::size_t floats = 0;
  for (std::size_t t = 0; t < from.manifest().tables.size(); ++t) {
    const TableManifest& table = from.manifest().tables[t];
    const bool sparse = table.spec.kind == TableSpec::Kind::kSparse;
    Status status = to.begin_table(table.spec, table.rows, table.spec.dim + table.state_floats);
    if (!status.ok()) co_return status;
    ModelReader::Cursor rows = from.rows(t, true);
    for (;;) {
      const auto block = rows.next();
      if (!block) co_return block.status();
      if (block->keys.empty()) break;
      placed.assign(block->keys.begin(), block->keys.end());
      for (std::uint64_t& key : placed) key = sparse ? place(key) : key;
      if (status = to.append(placed, block->rows); !status.ok()) co_return status;
      floats += block->rows.size();
      if (floats < kFloatsATurn) continue;
      floats = 0;  // The scheduler is of the same thread; it is to hear the others meanwhile.
      if (status = (co_await store.yield()).status; !status.ok()) co_return status;
    }
    if (status = to.end_table(); !status.ok()) co_return status;
  }
  co_return ok_status();
}

Task<Status> TrainJob::copy_kept(ShardStore& store) {
  if (!staged_->kept) co_return ok_status();
  const Status status = co_await stage_at(store, options_.out, *staged_);
  if (status.code() != Code::kIo) co_return status;
  co_return co_await stage_elsewhere(store, status, *staged_);
}

}  // namespace thalweg
