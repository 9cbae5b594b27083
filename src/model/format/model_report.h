// What a person asks of a stored model: what is in it, and how it differs from another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/format/model_dir.h"
#include "thalweg/status.h"

namespace thalweg {

struct TableSummary {
  std::string name;
  std::uint64_t rows = 0;
  std::uint32_t dim = 0;
  std::uint32_t state_floats = 0;
  std::uint64_t bytes = 0;
  std::uint64_t zero_rows = 0;  // Rows of which every float is zero.
  double mean = 0;              // Of all floats, state left out; 0 without rows.
  double rms = 0;
  double max_abs = 0;
};

struct ModelSummary {
  Manifest manifest;
  std::vector<TableSummary> tables;
};

Result<ModelSummary> inspect_model(const ModelReader& model);
std::string to_text(const TrainingRecord& record);  // Lines that tell when and from what.
std::string to_text(const ModelSummary& summary);

struct TableDiff {
  std::string name;
  std::uint64_t common_keys = 0;
  std::uint64_t only_left = 0;
  std::uint64_t only_right = 0;
  std::uint64_t different_rows = 0;  // Common keys whose floats differ in any bit.
  double max_abs_difference = 0;     // Over common keys.
};

struct ModelDiff {
  std::vector<TableDiff> tables;       // Of both models, in the left one's order.
  std::vector<std::string> only_left;  // Tables.
  std::vector<std::string> only_right;
  bool equal() const;  // Same tables, keys and floats; optimizer state is not compared.
};

// kUsage when a table has different kinds or row lengths in the two models.
Result<ModelDiff> diff_models(const ModelReader& left, const ModelReader& right);
std::string to_text(const ModelDiff& diff);

}  // namespace thalweg
