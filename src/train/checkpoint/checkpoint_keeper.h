// The checkpoints that a training keeps: completes what its servers have stored, prunes what is old, and
// knows the newest.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint/checkpoint_dir.h"
#include "checkpoint/directory_claim.h"
#include "client/job/cluster.h"
#include "net/system_disk.h"
#include "thalweg/trainer.h"
#include "train/checkpoint/resume.h"

namespace thalweg {

class CheckpointKeeper {
 public:
  // `of_this_job`: the checkpoints that are there are this training's, the newest is what it has kept so far.
  // kUsage: there are others, and the training does not go on from any; or another training has the
  // directory, but for a scheduler that has led this one. kIo: it cannot be used.
  static Result<std::unique_ptr<CheckpointKeeper>> open(const CheckpointOptions& options, bool of_this_job);

  // What a checkpoint tells of the passes before the one in which it was taken.
  using History = std::function<std::string(std::uint32_t pass)>;
  // Which data its shards read.
  using Inputs = std::function<std::string()>;
  // Has the job of this scheduler take them, each with what `about` says but its step, inputs, history and
  // parts. `this` outlives the job, `inputs` and `history` (none: there is none to tell) are called on the
  // thread that runs it.
  void follow(SchedulerOptions& job, checkpoint::Manifest about, Inputs inputs, History history);
  // Completes what has been taken. On the thread that runs the job.
  using Say = std::function<void(TrainMessage kind, const std::string& line)>;
  void work(Cluster& cluster, const Say& say);
  // Once the job is over.
  void finish() { checkpoint::remove_attempts(disk_, directory_); }

  // Why nothing keeps other trainings from the directory; empty: it is claimed.
  const std::string& unclaimed() const { return unclaimed_; }
  std::uint64_t completed() const { return completed_; }
  std::uint64_t failed() const { return failed_; }    // Attempts that a disk refused,
  const Status& refused() const { return refused_; }  // and why the last of them.
  // Of each complete one, how many passes had been done when it was taken.
  std::vector<std::uint32_t> passes_before() const;
  // Path of the newest complete one; empty: none.
  const std::string& newest() const { return newest_; }
  void begin_with(const std::string& path) { newest_ = path; }
  // None of those counts as one that is kept.
  void pass_over(const std::vector<PassedOver>& damaged);

 private:
  explicit CheckpointKeeper(const CheckpointOptions& options) : options_(options) {}
  Result<std::string> complete(const TakenCheckpoint& taken);
  void count_bytes(const checkpoint::Manifest& manifest);
  void on_taken(Cluster& cluster, const TakenCheckpoint& taken, const Say& say);
  void on_failed(const Status& why, const Say& say);
  void leave(const std::string& place);

  const CheckpointOptions options_;
  SystemDisk disk_;
  std::string directory_;  // With links followed.
  std::unique_ptr<checkpoint::DirectoryClaim> claim_;
  std::string unclaimed_;
  checkpoint::Manifest about_;
  Inputs inputs_;
  History history_;
  std::mutex mutex_;  // Guards what follows.
  std::vector<std::variant<TakenCheckpoint, FailedCheckpoint>> outcomes_;
  // Of the job's thread.
  std::uint64_t completed_ = 0, failed_ = 0;
  Status refused_;
  bool failing_ = false;                   // Its user knows.
  std::deque<std::string> failed_places_;  // Of the newest attempts; removed whenever another one has ended.
  std::string newest_;
  std::set<Step> damaged_;
  std::uint64_t newest_number_ = 0;  // 0: it is of an earlier training.
  // Of the newest that has all rows, and of those since that have the changes.
  std::uint64_t whole_bytes_ = 0, changes_bytes_ = 0;
};

}  // namespace thalweg
