// A training as those who drive its nodes themselves need it, such as a simulation: what servers keep, and
// what data shards run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/loss.h"
#include "thalweg/options.h"
#include "thalweg/store.h"
#include "thalweg/task.h"
#include "thalweg/trainer.h"

namespace thalweg {

struct TrainProgram {
  Consistency consistency;
  std::vector<TableSpec> tables;
  std::uint32_t shards = 1;
  std::uint32_t shard_batch_rows = 1;         // Rows of a gradient.
  std::string algorithm;                      // As --algorithm takes it.
  std::function<Task<Status>(Store&)> shard;  // That of `thalweg train`, on real rows.
};
// Opens the data. kUsage for combinations that cannot be meant, and where shards form a group.
Result<TrainProgram> train_program(const TrainerOptions& options);

// Of a shard's report on rows that it has learnt: their loss before that. None of another report.
std::optional<LossSum> learnt_loss(ReportId id, std::string_view report);

}  // namespace thalweg
