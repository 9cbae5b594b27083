// An algorithm by which data shards learn together: what it is called, what may be set of it, and how a job
// runs it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "thalweg/options.h"
#include "thalweg/status.h"

namespace thalweg {

// The one number of an algorithm, behind a colon: "ssp:4".
struct AlgorithmNumber {
  std::string_view placeholder;  // "S"
  std::uint32_t low = 0, high = 0;
  std::string_view summary;
};

// One a file in this folder.
struct Algorithm {
  std::string_view name;     // As --algorithm says it.
  std::string_view summary;  // A few words; docs/algorithms.md has them as well.
  std::string_view result;   // What the model's bits depend on.
  std::string_view paper;
  const AlgorithmNumber* number = nullptr;  // Not null: it must be given.
  bool combines = false;                    // Pushes may be added up on their way to the servers.
  Consistency (*consistency)(std::uint32_t number) = nullptr;
};

std::span<const Algorithm* const> algorithms();
std::string spelling(const Algorithm& algorithm);  // "ssp:S"

struct ChosenAlgorithm {
  const Algorithm* algorithm = nullptr;
  Consistency consistency;
};
// Of "sync", or "ssp:4". kUsage says what was expected.
Result<ChosenAlgorithm> choose_algorithm(std::string_view text);

// All of them as a table for people.
std::string explain_algorithms();

}  // namespace thalweg
