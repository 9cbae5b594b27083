#include "train/checkpoint/checkpoint_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hint.h"

namespace thalweg {
namespace {

constexpr Duration kEveryUnlessTold = std::chrono::minutes(5);
constexpr std::size_t kPlacesRemembered = 16;  // Nobody writes to one after so many more attempts.
constexpr std::uint64_t kWholeToChanges = 2;   // Whole ones are so many times as large as all changes since.

}  // namespace

Result<std::unique_ptr<CheckpointKeeper>> CheckpointKeeper::open(const CheckpointOptions& options,
                                                                 bool of_this_job) {
  std::unique_ptr<CheckpointKeeper> keeper(new CheckpointKeeper(options));
  Disk& disk = keeper->disk_;
  const auto was_there = checkpoint::have_directory(disk, options.directory);
  Status usable = was_there.status();
  if (usable.ok() && *was_there) usable = disk.check_writable(options.directory);
  if (!usable.ok()) return Status(usable.code(), "--checkpoint: " + usable.message());
  keeper->directory_ = disk.resolve(options.directory);
  auto claim = checkpoint::DirectoryClaim::take(disk, keeper->directory_);
  if (claim) {
    keeper->claim_ = *std::move(claim);
  } else if (claim.status().code() == Code::kRetry && !of_this_job) {
    return with_hint(
        {Code::kUsage, fmt::format("--checkpoint {}: another training keeps its checkpoints there: {}",
                                   options.directory, claim.status().message())},
        "wait until that has ended, or give another directory");
  } else {
    keeper->unclaimed_ = claim.status().message();
  }
  checkpoint::remove_attempts(disk, keeper->directory_);
  const auto there = checkpoint::list(disk, keeper->directory_);
  if (!there) return there.status();
  for (const checkpoint::Listed& one : *there) {
    if (of_this_job && one.status.ok()) keeper->newest_ = one.path;
  }
  if (!of_this_job && options.resume.empty() && !there->empty()) {
    return with_hint(
        {Code::kUsage, fmt::format("--checkpoint {}: there are checkpoints of another training, such as {}",
                                   options.directory, there->back().path)},
        "go on from the newest with --resume auto, or give another directory");
  }
  return keeper;
}

void CheckpointKeeper::follow(SchedulerOptions& job, checkpoint::Manifest about, Inputs inputs,
                              History history) {
  about_ = std::move(about);
  inputs_ = std::move(inputs);
  history_ = std::move(history);
  for (const TableSpec& table : job.tables) about_.tables.push_back({table.name, table.ranges});
  job.checkpoint.place = checkpoint::attempt_prefix(disk_, directory_);
  job.checkpoint.every_steps = options_.every_steps;
  job.checkpoint.every = options_.every;
  job.checkpoint.whole_every = options_.whole_every;
  if (options_.every_steps == 0 && options_.every <= Duration{}) job.checkpoint.every = kEveryUnlessTold;
  const auto keep = [this](auto outcome) {
    const std::lock_guard lock(mutex_);
    outcomes_.emplace_back(std::move(outcome));
  };
  job.on_checkpoint_taken = keep;
  job.on_checkpoint_failed = keep;
}

void CheckpointKeeper::pass_over(const std::vector<PassedOver>& damaged) {
  for (const PassedOver& one : damaged) damaged_.insert(one.step);
}

std::vector<std::uint32_t> CheckpointKeeper::passes_before() const {
  std::vector<std::uint32_t> out;
  const auto there = checkpoint::list(disk_, directory_);
  if (!there) return out;
  for (const checkpoint::Listed& one : *there) {
    if (one.status.ok()) out.push_back(checkpoint::passes_before(one.manifest));
  }
  return out;
}

void CheckpointKeeper::work(Cluster& cluster, const Say& say) {
  std::vector<std::variant<TakenCheckpoint, FailedCheckpoint>> outcomes;
  {
    const std::lock_guard lock(mutex_);
    outcomes.swap(outcomes_);
  }
  for (const auto& outcome : outcomes) {
    for (const std::string& place : failed_places_) (void)disk_.remove(place);
    if (const auto* taken = std::get_if<TakenCheckpoint>(&outcome)) {
      on_taken(cluster, *taken, say);
      continue;
    }
    const auto& failed = std::get<FailedCheckpoint>(outcome);
    leave(failed.place);
    if (failed.why.code() != Code::kRetry) on_failed(failed.why, say);
  }
}

// A server that has not heard of it yet may write its part there once more.
void CheckpointKeeper::leave(const std::string& place) {
  (void)disk_.remove(place);
  failed_places_.push_back(place);
  if (failed_places_.size() > kPlacesRemembered) failed_places_.pop_front();
}

Result<std::string> CheckpointKeeper::complete(const TakenCheckpoint& taken) {
  checkpoint::Manifest manifest = about_;
  manifest.step = taken.step;
  manifest.inputs = inputs_();
  for (const auto& [server, text] : taken.parts) {
    auto part = checkpoint::parse_part(text);
    if (!part) return part.status();
    manifest.parts.push_back(*std::move(part));
  }
  if (history_) manifest.history = history_(checkpoint::passes_before(manifest));
  const auto has_changes = [](const checkpoint::Part& part) { return !part.changed.empty(); };
  if (std::ranges::any_of(manifest.parts, has_changes)) {
    if (taken.since != newest_number_)
      return Status(Code::kRefused, "it has the changes since another checkpoint than the newest");
    auto base = checkpoint::base_of(disk_, newest_);
    if (!base) return base.status();
    manifest.base = *std::move(base);
  }
  auto path = checkpoint::complete(disk_, directory_, taken.place, manifest);
  if (path) count_bytes(manifest);
  return path;
}

void CheckpointKeeper::count_bytes(const checkpoint::Manifest& manifest) {
  if (!manifest.base) whole_bytes_ = manifest.bytes();
  changes_bytes_ = manifest.base ? changes_bytes_ + manifest.bytes() : 0;
}

void CheckpointKeeper::on_taken(Cluster& cluster, const TakenCheckpoint& taken, const Say& say) {
  const auto path = complete(taken);
  cluster.complete_checkpoint(taken.number, path.status(), kWholeToChanges * changes_bytes_ >= whole_bytes_);
  if (!path) {
    leave(taken.place);
    return on_failed(path.status(), say);
  }
  newest_ = *path;
  newest_number_ = taken.number;
  ++completed_;
  say(failing_ ? TrainMessage::kNote : TrainMessage::kDetail, "checkpoint at " + newest_);
  failing_ = false;
  damaged_.erase(taken.step);
  const auto pruned = checkpoint::prune(
      disk_, directory_, {.keep = options_.keep, .reads = false, .spared = newest_, .damaged = damaged_});
  if (!pruned) say(TrainMessage::kWarning, pruned.status().message());
}

void CheckpointKeeper::on_failed(const Status& why, const Say& say) {
  ++failed_;
  refused_ = why;
  if (std::exchange(failing_, true)) return;
  say(TrainMessage::kWarning,
      fmt::format("no checkpoint: {}; training goes on, and {}", why.message(),
                  newest_.empty() ? "there is none yet" : "the newest is " + newest_));
}

}  // namespace thalweg
