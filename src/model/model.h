// A model: the tables it keeps its parameters in, and how a batch and its rows become a loss and gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/local_batch.h"
#include "thalweg/options.h"
#include "thalweg/status.h"

namespace thalweg {

enum class Loss : std::uint8_t { kLogistic, kSquared };

struct ModelSpec {
  std::string name = "lr";  // lr | fm | ffm
  Loss loss = Loss::kLogistic;
  std::uint32_t rank = 8;    // fm, ffm: length of a factor.
  std::uint32_t fields = 0;  // ffm: number of fields.
  float init_scale = 0.1f;   // fm, ffm: standard deviation of initial factors.
  std::uint64_t seed = 1;
  RuleSpec weights;  // Update rule of bias and linear weights.
  RuleSpec factors;  // Update rule of factors.
};

// Sum over the rows of a batch; what progress and reports add up.
struct LossSum {
  double loss = 0;    // Weighted sum of per-row losses, before this batch's update.
  double weight = 0;  // Sum of row weights.
  std::uint64_t rows = 0;
};

// Stateless between batches but for scratch space; one per thread.
class Model {
 public:
  virtual ~Model() = default;
  // In the order in which compute() wants them. Table 0 is always the dense one-row "bias".
  virtual std::vector<TableSpec> tables() const = 0;
  // rows[t]: table t's rows for batch.keys() in order (dim floats a key; bias: one float).
  // scores: one raw score (margin or prediction before the link) a row of the batch.
  virtual LossSum forward(const LocalBatch& batch, std::span<const std::span<const float>> rows,
                          std::span<float> scores) = 0;
  // As forward(), and grads[t] (same shapes as rows[t], overwritten) gets d(sum of losses)/d(rows[t]).
  virtual LossSum gradient(const LocalBatch& batch, std::span<const std::span<const float>> rows,
                           std::span<float> scores, std::span<const std::span<float>> grads) = 0;
};

Result<std::unique_ptr<Model>> make_model(const ModelSpec& spec);

// Raw score to prediction: probability for logistic loss, the score itself for squared.
float predict(Loss loss, float score);
// Weighted loss of one row. Logistic: label > 0 is positive.
double row_loss(Loss loss, float score, float label);

}  // namespace thalweg
