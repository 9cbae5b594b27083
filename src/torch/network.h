// A dense model as a user writes it: its parameters, and how they turn inputs into scores.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/model.h"
#include "thalweg/dense_model.h"
#include "thalweg/status.h"

namespace thalweg {

using Parameter = DenseParameter;

// Used by one thread.
class Network {
 public:
  virtual ~Network() = default;
  virtual std::vector<Parameter> parameters() const = 0;
  // `inputs`: f32 [rows, ModelSpec::inputs]. Returns f32 [rows, outputs_of(spec)]; of Loss::kBytes
  // [rows, inputs, outputs_of(spec)], for the byte behind each.
  virtual at::Tensor forward(const std::vector<at::Tensor>& parameters, const at::Tensor& inputs) const = 0;
  // What a parameter begins with; empty: as it says.
  virtual std::span<const float> initial(std::size_t /*parameter*/) const { return {}; }
  // As Model has them.
  virtual Result<std::vector<FixedTensor>> fixed() const { return std::vector<FixedTensor>(); }
  // The loss of each row, of forward()'s outputs and f32 [rows] labels; undefined: as ModelSpec::loss has it.
  virtual at::Tensor losses(const at::Tensor& /*outputs*/, const at::Tensor& /*labels*/) const { return {}; }
  // Rows that are computed on together, which bounds what lies between layers.
  virtual std::size_t rows_at_once() const { return 256; }
};

inline std::int64_t outputs_of(const ModelSpec& spec) {
  return !is_of_score(spec.loss) ? static_cast<std::int64_t>(spec.classes) : 1;
}
// Weight and bias of a layer of `inputs` numbers to each of its outputs, as PyTorch's Linear begins: K. He et
// al., "Delving Deep into Rectifiers", ICCV 2015, with a = sqrt(5).
void add_layer(std::vector<Parameter>& parameters, const std::string& name, std::vector<std::int64_t> shape);

struct NetworkKind {
  const char* name;
  // As ModelKind::check; null: any sizes will do.
  Status (*check)(const ModelSpec& spec);
  std::unique_ptr<Network> (*make)(const ModelSpec& spec);
};

}  // namespace thalweg
