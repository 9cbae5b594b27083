// Whether the dense tables of a job fit the memory that tables may take.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/options.h"
#include "thalweg/status.h"
#include "train/train_spec.h"

namespace thalweg {

// `tables`: the job's; `memory`: TrainerOptions' own, 0 for no limit. kData says what asks for how much.
Status check_dense_room(const TrainSpec& spec, const std::vector<TableSpec>& tables, std::uint64_t memory);

}  // namespace thalweg
