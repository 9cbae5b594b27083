// One training job: runs it on a cluster, tells of its progress, saves the model, and sums it up.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/job/job_cluster.h"
#include "client/job/scheduler_state.h"
#include "net/real_clock.h"
#include "thalweg/trainer.h"
#include "train/checkpoint/checkpoint_keeper.h"
#include "train/checkpoint/resume.h"
#include "train/report/passes.h"
#include "train/saved/model_stage.h"
#include "train/shard_trainer.h"
#include "train/train_report.h"
#include "train/warm_start/warm_start.h"

namespace thalweg {

// Of a job whose scheduler can keep nothing; its end takes up to 10 s more.
inline constexpr Duration kUnkeptGrace = std::chrono::seconds(8);

// The job's own part: what is trained, and what is known of it so far.
class TrainJob {
 public:
  // `looks_at`: a checkpoint that it goes on from. kFirst, of a Trainer whose job before has found damage
  // while it loaded one: it says no more than which are passed over.
  static Result<std::unique_ptr<TrainJob>> create(const TrainerOptions& given,
                                                  LooksAt looks_at = LooksAt::kLoad);

  const TrainerOptions& options() const { return options_; }  // With what was chosen.
  const TrainSpec& spec() const { return inputs_->spec; }
  std::shared_ptr<const TrainInputs> inputs() const { return inputs_; }
  // The cluster's part that does not depend on how its nodes are driven. Its time runs from here on.
  SchedulerOptions scheduler_options(std::uint32_t servers, std::uint32_t workers);
  // Loads what the model begins with; waits for each pass and takes its numbers; then scans the tables,
  // and saves them when asked to.
  ShardProgram observer();
  // Where nodes live by a clock of their own: time is that clock's, and `on_pass` is called in the turn in
  // which a pass ends. Both outlive the run.
  void live_by(std::function<Instant()> clock, std::function<void()> on_pass);
  // Runs until the model is saved, the job failed or close() was answered by saving.
  TrainResult run(Cluster& cluster, std::uint32_t servers, std::uint32_t workers);
  // The rows of an earlier job, whose batches and counts of keys (null: none) are this one's too; before it
  // runs.
  void share_rows(std::shared_ptr<KeptPasses> passes, std::shared_ptr<KeyCounting> counting);
  // Saves a model only if its loss on held-out rows is below this.
  void save_below(double loss) { save_below_ = loss; }
  // What is counted before nodes of this process begin, which would not be heard of meanwhile.
  Status count_keys() const;
  // Of a job with a state, before its nodes begin: it is the one that is kept there, or begins where there is
  // none, or one that is over and is to go on from its checkpoints.
  // `alone`: none of its nodes is there any more.
  Status begin_kept(StateStore& store, KeptState& kept, bool alone);
  // Of a job that another scheduler leads: kUsage where this one could not take it up.
  Status check_kept(std::string_view image, std::uint32_t servers, std::uint32_t workers);
  // Asks for an early end: with checkpoints by taking one more, else by what has been learnt.
  void close() { closing_ = true; }
  void say(TrainMessage kind, const std::string& line) const;
  // Of the checkpoint that it goes on from, if any, before it runs.
  Status look_at_resume() { return resume_ ? look_at_all(*resume_) : ok_status(); }
  // Once it has run: whether that was found damaged while it was loaded.
  bool found_damage() const { return found_damage_; }
  // Whether after_epoch has ended it.
  bool was_told_to_end() const { return told_to_end_; }

 private:
  explicit TrainJob(TrainerOptions options) : options_(std::move(options)) {}
  Instant now() const { return clock_ ? clock_() : real_clock_.now() + before_; }
  void warn_of_inputs() const;
  // Tells the files that data shards read from others; 0: not known yet.
  std::uint64_t data() const { return data_ != 0 ? data_ : monitor_->inputs(); }
  // Of what this process has opened.
  std::string inputs_text() const;
  Status check_same_data(const ResumePoint& from);
  // kUsage, saying what differs: the job that is kept is another one.
  Status check_same_as_kept(const wire::Map& kept) const;
  // The job begins there, or anew.
  Status begin_with(std::optional<ResumePoint> resume, const std::vector<PassedOver>& passed_over);
  Status find_and_begin();
  // `of_this_job`: those that are there.
  Status open_checkpoints(bool of_this_job);
  static Status note_begin(StateStore& store, KeptState& kept);
  // The job is another scheduler's.
  Status take_up(const Scheduler::Imaged& job, const std::vector<KeptReport>& reports);
  // What is known of the passes before the first, and the best model of these, which a user is told of where
  // it is gone.
  void go_on_with_best(const ResumePoint& from);
  // What its observer had seen to, and the best model of that.
  Status take_up_best(const Scheduler::Imaged& job, const std::vector<KeptReport>& reports);
  std::unique_ptr<TrainMonitor> new_monitor() const;
  Task<Status> load(ShardStore& store);
  // As Cluster::wait(), for a while; completes checkpoints meanwhile.
  bool wait(Cluster& cluster);
  // Of a job that is to end early: ends it once there is one more, or cannot be.
  void end_by_checkpoint(Cluster& cluster);
  void end_without_checkpoint(Cluster& cluster, const std::string& why);
  // Where the scheduler's state cannot be kept, so that no order of that reaches anybody.
  void end_unkept(Cluster& cluster);
  Status with_way_on(Status status) const;
  std::uint32_t first_epoch() const {
    if (!spec().reached.empty()) return first_open_pass(spec().reached);
    return open_pass_of(first_);
  }
  Task<Status> observe(ShardStore& store);
  ModelStage::Job stage_of_this();
  // All but the one that is kept, and those of what each checkpoint's passes had come to.
  void forget_other_bests();
  // Of TrainSpec::shows_passes: stages the best model so far, and ends the training once that is long ago.
  Task<Status> show_pass(ShardStore& store, std::uint32_t epoch);
  // Waits until after_epoch has been told of all passes, or the job is to end.
  Task<Status> hear(ShardStore& store);
  // What is staged, or else what the servers have, unless it is worse than none.
  Task<Status> save(ShardStore& store);
  // Whether what is kept is worse than none, as not_kept_ then says.
  Task<Status> judge(ShardStore& store);
  TrainingRecord record() const;
  bool is_outdone() const;
  std::map<std::string, std::string> options_to_store() const;
  std::map<std::string, double> metrics() const;
  void add_pass(EpochNumbers numbers);
  // Of a job that was asked to end early: pass `from` and what some shards have begun behind it.
  void add_cut_short(std::uint32_t from);
  std::vector<std::string> take_news();
  // Tells of the passes behind `told` that are done; returns how many are.
  std::size_t tell_epochs(std::size_t told, Cluster& cluster);
  TrainProgress progress(const ClusterView& view) const;
  void sum_up(const ClusterView& view, bool closed, TrainResult& result) const;
  void add_costs(const Counters& counted, std::uint64_t steps, TrainResult& result) const;
  void add_words(bool closed, TrainResult& result) const;
  // Of the job once it is over; `closed`: it was asked to end early.
  Status outcome(const Status& of_cluster, bool closed) const;

  const TrainerOptions options_;
  std::shared_ptr<TrainInputs> inputs_;
  std::unique_ptr<WarmStart> start_;  // Null: with nothing.
  std::optional<ResumePoint> resume_;
  std::atomic<bool> found_damage_{false};
  std::uint64_t data_ = 0;                    // As data(), where it is known before a shard tells.
  Step first_;                                // That data shards begin with, where not each has its own.
  std::unique_ptr<CheckpointKeeper> keeper_;  // Null: none are taken.
  // Once it is to end early: until when, and what the keeper had done by then.
  struct Ending {
    Instant until;
    std::uint64_t completed = 0, failed = 0;
  };
  std::optional<Ending> ending_;
  Instant unkept_until_{0};       // Of a job that is to end early.
  std::unique_ptr<Model> model_;  // As the observer knows it.
  std::vector<TableSpec> tables_;
  std::unique_ptr<TrainMonitor> monitor_;
  std::vector<std::string> notes_;  // To be told when the job starts.
  RealClock real_clock_;            // Since the cluster was about to start.
  Duration before_{};               // Since the job was begun, where by another scheduler.
  std::function<Instant()> clock_;  // In its place, where there is one.
  std::function<void()> on_pass_;
  std::atomic<bool> closing_{false};
  std::mutex news_mutex_;          // Guards news_ and told_unread_.
  std::vector<std::string> news_;  // Of nodes that come and go, not yet told.
  bool told_unread_ = false;       // That a report was none.
  Passes passes_;
  std::optional<ModelStage> stage_;
  // Written by the observer's turns, and read once the job is over.
  Instant begun_{}, trained_{};  // When all shards could read their rows, and had done all passes.
  bool collected_ = false;       // The whole model, and saved if that was asked for.
  std::uint32_t shown_ = 0;      // Passes that another scheduler's observer, or a job before, has seen to.
  std::atomic<bool> enough_{false};  // No pass was better for long, or it was told to: training ends.
  std::atomic<bool> told_to_end_{false};
  std::optional<double> save_below_;
  bool loaded_ = false;                   // Before the observer came.
  std::uint64_t rows_without_click_ = 0;  // As TrainPlan has it.
  std::string not_kept_;                  // As TrainResult has it.
  std::optional<Measured> learnt_;        // On rows that it has learnt, where the passes tell too little.
};

}  // namespace thalweg
