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

struct ResumePoint {
  std::string path;
  checkpoint::Manifest manifest;
};

// Where the options say, every byte looked at. Nothing: with "auto" there is none. Of damaged ones that
// "auto" passes over, `warnings` tells. kUsage, kIo, kModel.
Result<std::optional<ResumePoint>> find_resume(const CheckpointOptions& options,
                                               std::vector<std::string>& warnings);

// kUsage, saying what differs: this training would not have come to the checkpoint's rows.
Status check_same_training(const ResumePoint& from, const TrainSpec& spec, const std::string& inputs);

// Loads all rows. `tables`: as the servers have them.
Task<Status> load_checkpoint(ShardStore& store, ResumePoint from, std::vector<TableSpec> tables);

}  // namespace thalweg
