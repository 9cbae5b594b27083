// A model's TrainingRecord as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "model/format/manifest.h"

namespace thalweg {

// `hashes` stands before the names of a file's two hashes: "xxh3_64_" in model.json.
inline nlohmann::ordered_json training_json(const TrainingRecord& record, const std::string& hashes) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const TrainedFile& file : record.files) {
    files.push_back({{"name", file.name},
                     {"bytes", file.bytes},
                     {hashes + "head", file.head},
                     {hashes + "tail", file.tail}});
  }
  return {{"date", record.date},
          {"batch", record.batch},
          {"data_shards", record.data_shards},
          {"epochs", record.epochs},
          {"learnt_epochs", record.learnt_epochs},
          {"best_epoch", record.best_epoch},
          {"kept_epoch", record.kept_epoch},
          {"files", files},
          {"files_left_out", record.files_left_out}};
}

}  // namespace thalweg
