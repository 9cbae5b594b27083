// Rows of the input through a stored model, in input order and constant memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/view/output.h"
#include "model/loss.h"
#include "thalweg/batch.h"
#include "thalweg/status.h"

namespace thalweg {

struct Scored {
  Loss loss = Loss::kLogistic;
  std::uint64_t rows = 0;
  std::uint64_t skipped = 0;
  std::vector<std::string> empty_files{};
  double known_features = 1;  // Part of the distinct ones.
  double seconds = 0;
};
// Labels and weights of a batch, the raw scores of its rows, and the sum of their losses.
struct ScoredRows {
  Loss loss;
  const Batch& rows;
  const std::vector<float>& scores;
  LossSum sum;
};
using ScoreSink = std::function<Status(const ScoredRows&)>;

// `labels`: they must be there and suit the loss.
Result<Scored> score_rows(const Options& options, bool labels, const ScoreSink& sink);
void note_oddities(const Scored& scored, Output& out);

}  // namespace thalweg
