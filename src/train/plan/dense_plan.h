// What a dense model's user left open.
#pragma once

#include "data/data_set.h"
#include "model/model_kind.h"
#include "thalweg/trainer.h"
#include "train/train_spec.h"

namespace thalweg {

// Features of a dense model are below.
inline constexpr Key kInputsMax = Key{1} << 20;
inline constexpr const char* kHashesInputs = "--hash-bits 12, which hashes features to 4096";

// Sizes, batch and update rule of spec.model, whose kind is dense. Reads all of `data` where inputs or
// classes are not told; null: only the workers have the data. Errors: kUsage, kData naming file and line.
Status plan_dense(const TrainerOptions& options, const ModelKind& kind, DataSet* data, TrainSpec& spec);

// The same of the classes of a sparse model of them.
Status choose_classes(const TrainerOptions& options, DataSet* data, TrainSpec& spec);

// spec.model's layers between; `usual`: where they are left open.
Status choose_hidden(const TrainerOptions& options, std::span<const std::uint32_t> usual, ModelSpec& model);

// Of a kind of text: sizes of spec.model, and how its text is read. kUsage for options of rows.
Status plan_text(const TrainerOptions& options, const ModelKind& kind, TrainSpec& spec);

}  // namespace thalweg
