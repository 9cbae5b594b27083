// A checkpoint that a training goes on from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_dir.h"
#include "client/job/job_cluster.h"
#include "thalweg/trainer.h"
#include "train/train_spec.h"

namespace thalweg {

// When it is seen whether a checkpoint is damaged, which is there in full length before that.
enum class LooksAt { kFirst, kLoad };

struct ResumePoint {
  std::string path;
  checkpoint::Manifest manifest;
  LooksAt looks_at = LooksAt::kFirst;
};

struct PassedOver {
  Step step;
  std::string why;
};

// Where the options say. Nothing: with "auto" there is none. `passed_over`: damaged ones that "auto" has
// found to be. kUsage, kIo, kModel.
Result<std::optional<ResumePoint>> find_resume(const CheckpointOptions& options, LooksAt looks_at,
                                               std::vector<PassedOver>& passed_over);
// Looks at every byte, unless that has been done.
Status look_at_all(ResumePoint& point);

// kUsage, saying what differs: this training would not have come to the checkpoint's rows.
// `inputs` (empty: it is for workers to compare theirs): the data that this one reads.
Status check_same_training(const ResumePoint& from, const TrainSpec& spec, const std::string& inputs);

// A checkpoint's inputs: 16 hex digits of what TrainInputs::fingerprint has.
std::string text_of_inputs(std::uint64_t fingerprint);
// 0: it is none.
std::uint64_t inputs_of_text(const std::string& text);

// kUsage, saying what differs: the job whose scheduler was told `job` is another one.
Status check_same_job(const std::string& job, const TrainSpec& spec);

// Loads all rows. `tables`: as the servers have them. kIo, kModel: the checkpoint cannot be read, or is
// damaged, where that was not looked at first; some of its rows may be loaded then.
Task<Status> load_checkpoint(ShardStore& store, ResumePoint from, std::vector<TableSpec> tables);

}  // namespace thalweg
