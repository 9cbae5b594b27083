// Everything that a worker needs to know to train its data shards; travels to every node as the job's text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/manifest.h"
#include "data/read_options.h"
#include "model/model.h"
#include "thalweg/status.h"

namespace thalweg {

struct TrainSpec {
  ModelSpec model;
  ReadOptions train;
  ReadOptions valid;  // Without paths: nothing is held out.
  std::uint32_t epochs = 1;
  std::uint32_t batch_rows = 4096;  // Rows of one step over all data shards.
  std::uint32_t shards = 8;
  std::string algorithm = "sync";  // As choose_algorithm() takes it.
  std::string exchange;            // The route between shards that form a group; empty: servers.
  std::vector<double> mixing;      // shards * shards weights, where the algorithm mixes.
  bool loads = false;              // The observer loads rows before shards begin,
  bool loads_state = false;        // with their optimizer state.
  std::string begins_with;         // Of a saved model, for people: which one; else empty.
  std::vector<Reached> reached;    // By shard: what is in those rows; none where the job's map says it.
  bool shows_passes = false;       // Shards wait at each pass's observers_barrier().
  // Of labels above 0 each row counts as so many, and this part of the others is learnt.
  float positive_weight = 1, kept_negatives = 1;
  std::uint32_t min_count = 0;    // Keys that come up fewer times are left out; 0: none is.
  std::uint64_t count_width = 0;  // Of the KeyCounts that tell.
  // Keys that no row of so many steps before the end has had are not saved, see rows/key_ages.h; 0: all are.
  std::uint32_t expire_after = 0;
  std::string script_hash;  // Of model.script where the job was made, as hash_file() has it.
  std::string fields_from;  // Where the data has the field that model.fields comes from, for people.

  std::uint32_t shard_batch_rows() const { return batch_rows / shards > 0 ? batch_rows / shards : 1; }
  bool has_valid() const { return !valid.paths.empty(); }
};

std::string to_text(const TrainSpec& spec);
Result<TrainSpec> train_spec_from_text(std::string_view text);

}  // namespace thalweg
