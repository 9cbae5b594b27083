// An algorithm by which data shards learn together: what it is called, what may be set of it, and how a job
// runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/ids.h"
#include "thalweg/options.h"
#include "thalweg/status.h"

namespace thalweg {

class ReplicaAlgorithm;
struct ShardGroup;

// A number of an algorithm: "fetch=5" behind the colon, or "4" alone for the one without a name.
struct AlgorithmNumber {
  std::string_view name = {};
  std::string_view placeholder;  // "S"
  double low = 0, high = 0;
  bool whole = true;
  bool time = false;                              // In seconds, written with a unit: 50ms. Not whole then.
  std::optional<double> fallback = std::nullopt;  // Without: it must be given.
  std::string_view summary;
};

// What is set of an algorithm.
struct AlgorithmValues {
  std::vector<std::pair<std::string_view, double>> numbers;
  std::string word;
  double operator[](std::string_view name) const;  // Precondition: the algorithm has this number.
  std::uint32_t whole(std::string_view name = {}) const { return static_cast<std::uint32_t>((*this)[name]); }
};

// One data shard of a job, as its algorithm sees it.
struct AlgorithmShard {
  ShardId shard;
  std::uint32_t shards = 1;
  std::uint32_t epochs = 1;
  std::uint32_t batch_rows = 1;  // Of the shard's step.
  std::uint64_t seed = 0;
  std::span<const double> mixing;     // shards * shards, where the algorithm mixes.
  std::shared_ptr<ShardGroup> ranks;  // Where the job's shards form a group.
  bool dense_alone = false;           // That group has to do with dense tables; sparse ones are the servers'.
};

// One a file in this folder.
struct Algorithm {
  std::string_view name;     // As --algorithm says it.
  std::string_view summary;  // A few words; docs/algorithms.md has them as well.
  std::string_view result;   // What the model's bits depend on.
  std::string_view paper;
  std::span<const AlgorithmNumber> numbers = {};
  std::string_view word = {};         // Not empty: what the word behind the colon is, "GRAPH".
  std::string_view word_unsaid = {};  // What it is where it is left out; empty: it must be given.
  bool one_server = false;            // All rows are on one server.
  bool combines = false;              // Pushes may be added up on their way to the servers.
  // Shards form a group, and servers get the model when a pass ends. If asked: also of dense tables alone.
  enum class Group : std::uint8_t { kUnused, kIfAsked, kAlways } group = Group::kUnused;
  bool sparse = true;  // Models with sparse tables make sense.
  bool sums = false;   // Servers add up what is pushed, instead of the model's update rules.
  bool state = true;   // Rules whose rows follow from their state, ftrl, make sense.
  Consistency (*consistency)(const AlgorithmValues& values) = nullptr;  // Of the servers.
  // How pushes are added up on their way; null: as --combine says.
  Combining (*combining)(const AlgorithmValues& values) = nullptr;
  // Null: shards push to the servers and pull from them, and nothing else.
  std::unique_ptr<ReplicaAlgorithm> (*make)(const AlgorithmValues& values, AlgorithmShard shard) = nullptr;
  // Whether the shard trains in this pass; null: in each.
  bool (*takes_part)(const AlgorithmValues& values, const AlgorithmShard& shard,
                     std::uint32_t epoch) = nullptr;
  // Whether the pass ends with a model that can be scored and kept; null: each does.
  bool (*makes_model)(const AlgorithmValues& values, std::uint32_t epoch, std::uint32_t epochs) = nullptr;
};

std::span<const Algorithm* const> algorithms();
std::string spelling(const Algorithm& algorithm);  // "ssp:S", "downpour:fetch=N,push=N"

struct ChosenAlgorithm {
  const Algorithm* algorithm = nullptr;
  AlgorithmValues values;
  Consistency consistency;
};
// Of "sync", "ssp:4", "fedavg:C=0.5,E=2". kUsage says what was expected.
Result<ChosenAlgorithm> choose_algorithm(std::string_view text);

// All of them as a table for people.
std::string explain_algorithms();

}  // namespace thalweg
