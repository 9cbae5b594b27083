// What all models share: a score per row, then the link's losses and slopes, then slopes back to parameters.
#pragma once

#include <memory>
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
  LossSum score(const LocalBatch& batch, TableRows rows, std::span<float> scores) final;
  LossSum gradient(const LocalBatch& batch, TableRows rows, std::span<float> scores, TableGrads grads) final;

  // The model's part above the linear one; `above` has the rows of the tables behind bias and weights.
  // Adds to `scores`; nothing for the linear model.
  virtual void add_scores(const LocalBatch&, TableRows /*above*/, std::span<float> /*scores*/) {}
  // Adds slope * d(score)/d(rows) for each row to `grads`; follows add_scores() of the same batch.
  virtual void add_gradients(const LocalBatch&, TableRows /*above*/, std::span<const float> /*slopes*/,
                             TableGrads /*grads*/) {}

 protected:
  TableSpec factor_table(std::uint32_t dim) const;
  const ModelSpec& spec() const { return spec_; }

 private:
  void check_shapes(const LocalBatch& batch, TableRows rows, std::span<const float> scores) const;

  ModelSpec spec_;
  std::vector<float> slopes_;
};

// A bias, and a float for each key; what linear models have.
std::vector<TableSpec> linear_tables(const ModelSpec& spec);
std::unique_ptr<Scorer> make_factorization_machine(const ModelSpec& spec);
// Whether each entry has a field below spec.fields; see Model::validate().
Status check_fields(const Batch& batch, const ModelSpec& spec);

}  // namespace thalweg
