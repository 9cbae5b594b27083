// One training job: runs it on a cluster, shows its progress, saves the model, and sums it up.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "client/cluster.h"
#include "client/local_cluster.h"
#include "model/model_dir.h"
#include "train/shard_trainer.h"
#include "train/train_report.h"

namespace thalweg {

// The job's own part: what is trained, and what is known of it so far.
class TrainJob {
 public:
  // From then on run() answers Ctrl-C, so that it must come before threads and processes start.
  static Result<std::unique_ptr<TrainJob>> create(const Options& options, Output& out);

  const TrainSpec& spec() const { return inputs_->spec; }
  const std::shared_ptr<const TrainInputs>& inputs() const { return inputs_; }
  // The cluster's part that does not depend on how its nodes are driven.
  SchedulerOptions scheduler_options(std::uint32_t servers, std::uint32_t workers);
  // Waits for each pass and shows its numbers; then scans the tables, and saves them when asked to.
  ShardProgram observer();
  // Runs until the model is saved, the job failed or Ctrl-C was answered by saving.
  Status run(Cluster& cluster, std::uint32_t servers, std::uint32_t workers);

 private:
  TrainJob(const Options& options, Output& out);
  Task<Status> observe(ShardStore& store);
  Task<Status> save(ShardStore& store);
  Task<Status> save_at(ShardStore& store, Disk& disk, const std::string& directory);
  Task<Status> collect(ShardStore& store, ModelWriter* writer);
  Task<Status> collect_table(ShardStore& store, TableId table, ModelWriter* writer);
  std::size_t epochs_done();
  std::vector<std::string> take_news();
  void show_epoch(std::uint32_t epoch);
  ProgressNumbers progress_numbers(const ClusterView& view, std::uint32_t servers, std::uint32_t workers);
  void summary(const ClusterView& view, double seconds, bool interrupted);
  Status held_out_status() const;
  std::map<std::string, double> metrics() const;

  const Options& options_;
  Output& out_;
  const std::atomic<bool>& interrupted_;
  std::shared_ptr<const TrainInputs> inputs_;
  std::vector<TableSpec> tables_;
  std::unique_ptr<TrainMonitor> monitor_;
  std::vector<std::string> notes_;  // To be shown when the job starts.
  std::mutex news_mutex_;           // Guards news_.
  std::vector<std::string> news_;   // Of nodes that come and go, not yet shown.
  std::mutex epochs_mutex_;         // Guards epochs_ while the job runs.
  // Written by the observer's turns; all but epochs_ is read once the job is over.
  std::vector<EpochNumbers> epochs_;
  std::uint64_t digest_ = 0;
  std::uint64_t model_rows_ = 0;
  bool collected_ = false;  // The whole model, and saved if that was asked for.
  std::string saved_to_;    // Empty: nowhere.
  Status saved_elsewhere_;  // Why the model is not where it was asked for, and where it is.
};

// The options of a job as its spec; kUsage for combinations that cannot be meant. Reads a little of the input
// where an option is left to be chosen from the data.
struct TrainPlan {
  TrainSpec spec;
  std::shared_ptr<DataSet> pipe;  // The training data when it can be opened once only; null otherwise.
  std::vector<std::string> notes, warnings;  // For people.
};
Result<TrainPlan> plan_training(const Options& options, const std::vector<std::string>& paths);

}  // namespace thalweg
