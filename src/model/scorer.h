// What all models share: a score per row, then the link's losses and slopes, then slopes back to parameters.
#pragma once

#include <span>
#include <vector>

#include "model/model.h"

namespace thalweg {

using TableRows = std::span<const std::span<const float>>;
using TableGrads = std::span<const std::span<float>>;

class Scorer : public Model {
 public:
  explicit Scorer(ModelSpec spec) : spec_(std::move(spec)) {}
  std::vector<TableSpec> tables() const override;
  Status validate(const Batch& batch) const override;
  LossSum forward(const LocalBatch& batch, TableRows rows, std::span<float> scores) final;
  LossSum gradient(const LocalBatch& batch, TableRows rows, std::span<float> scores, TableGrads grads) final;

 protected:
  // Adds the model's part above the linear one to scores; nothing for the linear model.
  virtual void add_scores(const LocalBatch&, std::span<const float> /*factors*/,
                          std::span<float> /*scores*/) {}
  // Adds slope * d(score)/d(factors) for each row to `grads`, which starts at zero.
  virtual void add_gradients(const LocalBatch&, std::span<const float> /*factors*/,
                             std::span<const float> /*slopes*/, std::span<float> /*grads*/) {}
  TableSpec factor_table(std::uint32_t dim) const;
  const ModelSpec& spec() const { return spec_; }

 private:
  void check_shapes(const LocalBatch& batch, TableRows rows, std::span<const float> scores) const;

  ModelSpec spec_;
  std::vector<float> slopes_;
};

}  // namespace thalweg
