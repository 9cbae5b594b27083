// A job's model, read from its servers row by row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/job/job_cluster.h"
#include "model/format/model_dir.h"
#include "thalweg/options.h"
#include "thalweg/task.h"
#include "train/train_report.h"

namespace thalweg {

// Rows that servers have and no model does.
struct LeftOut {
  bool zeros = false;              // Features whose weights are 0.
  std::uint32_t expire_after = 0;  // Steps in which no row had them; 0: never.
  // What their ages count from: passes that have been learnt, of which the first is number `first_pass`, from
  // 0.
  std::span<const EpochNumbers> passes;
  std::uint32_t first_pass = 0;
};

struct CollectedModel {
  std::uint64_t digest = 0;
  std::uint64_t rows = 0;  // Of sparse tables that count as the model's.
};

// `writer`: null where no file is wanted. What is referred to outlives the call.
Task<Status> collect_model(ShardStore& store, const std::vector<TableSpec>& tables, const LeftOut& left_out,
                           ModelWriter* writer, CollectedModel& out);

}  // namespace thalweg
