// A job's model on its way to where it is to be saved: written beside that place, where it waits until it is
// known that no later pass is better; or kept whole where whoever takes the job up finds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/format/model_dir.h"
#include "net/system_disk.h"
#include "thalweg/trainer.h"
#include "train/report/passes.h"
#include "train/saved/best_so_far.h"
#include "train/saved/collect_model.h"
#include "train/train_spec.h"

namespace thalweg {

class ModelStage {
 public:
  // Of the job that has this stage, which outlive it.
  struct Job {
    const TrainerOptions& options;
    const TrainSpec& spec;
    const std::vector<TableSpec>& tables;
    const Passes& passes;
    std::map<std::string, std::string> stored;  // What reading rows for the model needs.
    std::function<void(TrainMessage, const std::string&)> say;
  };
  explicit ModelStage(Job job) : job_(std::move(job)) {}

  // Best models are kept there, for whoever takes the job up.
  void keep_best(BestSoFar there) { best_.emplace(std::move(there)); }
  const std::optional<BestSoFar>& best() const { return best_; }
  // Of a job before: that of pass `number`, which is at `model`, and which `passes` passes are known to.
  void go_on_with(const std::string& model, std::uint64_t number, std::size_t passes);
  void keep(std::string place, std::size_t passes);
  // All best models but the one that is kept, and those of these passes.
  void forget_other_bests(const std::set<std::uint64_t>& numbers);
  void forget_bests() { best_->forget_others(""); }

  // What servers have is staged.
  Task<Status> stage(ShardStore& store);
  bool is_staged() const { return staged_.has_value(); }
  // Whoever takes the job up finds the one that is staged.
  bool is_kept() const { return staged_ && !staged_->kept_at.empty(); }
  // The passes up to the one whose model is staged; where none is, all.
  std::vector<EpochNumbers> passes() const;

  // Precondition of what follows: one is staged.
  // Its digest and rows, where it is kept.
  Status read_kept();
  // The model is visible, at options.out or, where nothing can be written there, elsewhere.
  Task<Status> commit(ShardStore& store, std::map<std::string, double> metrics, TrainingRecord record);
  void drop() { staged_->writer.reset(); }

  std::uint64_t digest() const { return model_.digest; }
  std::uint64_t rows() const { return model_.rows; }
  const std::string& saved_to() const { return saved_to_; }  // Empty: nowhere.
  // Why the model is not where it was asked for, and where it is.
  const Status& saved_elsewhere() const { return saved_elsewhere_; }

 private:
  // A model that is written, and not seen before it is committed.
  struct Staged {
    std::unique_ptr<Disk> disk = std::make_unique<SystemDisk>();
    std::unique_ptr<ModelWriter> writer;  // Null: it is to be saved nowhere.
    std::string place;
    std::size_t passes = 0;
    std::string kept_at;              // By best_, until it is copied; empty: it is not.
    std::optional<ModelReader> kept;  // From there, once it is read.
  };
  void set(Staged staged);
  // Where best_ has that model: among other checkpoints than those that it was found beside, a copy.
  std::string brought_along(const std::string& model, std::uint64_t number);
  Task<Status> stage_best(ShardStore& store);
  Task<Status> stage_at(ShardStore& store, const std::string& place, Staged& staged);
  Task<Status> stage_elsewhere(ShardStore& store, Status refused, Staged& staged);
  Task<Status> collect(ShardStore& store, ModelWriter* writer);
  Task<Status> copy_kept(ShardStore& store);
  Status commit_staged(const std::map<std::string, double>& metrics, const TrainingRecord& record);

  const Job job_;
  std::optional<Staged> staged_;
  std::optional<BestSoFar> best_;
  CollectedModel model_;
  std::string saved_to_;
  Status saved_elsewhere_;
};

}  // namespace thalweg
