// A dense model of an application's own as LibTorch's users write one: its parameters and a forward pass,
// whose gradients come by autograd. The one header here that needs LibTorch's, which whoever includes it
// links.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/dense_model.h"

namespace thalweg {

// Floats as a tensor, without a copy. PyTorch has no tensors of what must not change: only such are written
// to whose floats may be.
inline at::Tensor tensor_over(std::span<const float> floats, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(floats.data()), shape, at::TensorOptions().dtype(at::kFloat));
}

// The loss of each row, f32 [rows]. `outputs`: f32 [rows, classes], or [rows, 1] of kLogistic and kSquared.
// Labels that are no class are those of rows that are only scored.
inline at::Tensor losses_of(Loss loss, const at::Tensor& outputs, const at::Tensor& labels) {
  if (loss == Loss::kClasses) {
    const double last = static_cast<double>(outputs.size(1) - 1);
    const at::Tensor classes = labels.nan_to_num().clamp(0, last).to(at::kLong);
    return at::cross_entropy_loss(outputs, classes, {}, at::Reduction::None);
  }
  if (loss == Loss::kLogistic)
    return at::binary_cross_entropy_with_logits(outputs.squeeze(1), labels, {}, {}, at::Reduction::None);
  return (outputs.squeeze(1) - labels).square() / 2;
}

// What is reported of each row, f32 [rows]: its class, or its margin or number.
inline at::Tensor scores_of(Loss loss, const at::Tensor& outputs) {
  return loss == Loss::kClasses ? outputs.argmax(1).to(at::kFloat) : outputs.squeeze(1);
}

// Of DenseModel's functions a network has parameters() and the three below, the last two of them only where
// it has a loss of its own.
class TorchNetwork : public DenseModel {
 public:
  // LibTorch computes on one thread from then on: each data shard has one of its own, and bits must not
  // depend on their number.
  explicit TorchNetwork(DenseSizes sizes) : sizes_(std::move(sizes)) { at::set_num_threads(1); }

  // `inputs`: f32 [rows, DenseSizes::inputs]. Returns what losses() and scores() take, f32 [rows, ...].
  virtual at::Tensor forward(const std::vector<at::Tensor>& parameters, const at::Tensor& inputs) const = 0;
  virtual at::Tensor losses(const at::Tensor& outputs, const at::Tensor& labels) const {
    return losses_of(sizes_.loss, outputs, labels);
  }
  virtual at::Tensor scores(const at::Tensor& outputs) const { return scores_of(sizes_.loss, outputs); }

  const DenseSizes& sizes() const { return sizes_; }
  double learn(const DenseRows& rows, std::span<const std::span<const float>> values, std::span<float> scored,
               std::span<const std::span<float>> gradients) final;

 private:
  static constexpr std::size_t kRowsAtOnce = 256;  // Which bounds what lies between layers.

  const DenseSizes sizes_;
  std::vector<DenseParameter> shapes_;
};

inline double TorchNetwork::learn(const DenseRows& rows, std::span<const std::span<const float>> values,
                                  std::span<float> scored, std::span<const std::span<float>> gradients) {
  at::init_num_threads();  // OpenMP keeps their number by thread.
  const c10::InferenceMode only_scored(gradients.empty());
  if (shapes_.empty()) shapes_ = parameters();
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensors.push_back(tensor_over(values[i], shapes_[i].shape));
    if (gradients.empty()) continue;
    std::fill(gradients[i].begin(), gradients[i].end(), 0.0f);  // Where autograd adds them up.
    tensors.back().requires_grad_(true);
    tensors.back().mutable_grad() = tensor_over(gradients[i], shapes_[i].shape);
  }
  double sum = 0;
  for (std::size_t begin = 0; begin < rows.count; begin += kRowsAtOnce) {
    const std::size_t size = std::min(kRowsAtOnce, rows.count - begin);
    const auto count = static_cast<std::int64_t>(size);
    const auto part = [&](std::span<const float> all) {
      return tensor_over(all.subspan(begin, size), {count});
    };
    const at::Tensor outputs =
        forward(tensors, tensor_over(rows.inputs.subspan(begin * sizes_.inputs, size * sizes_.inputs),
                                     {count, static_cast<std::int64_t>(sizes_.inputs)}));
    const at::Tensor loss = (losses(outputs, part(rows.labels)) * part(rows.weights)).sum();
    part(scored).copy_(scores(outputs.detach()));
    if (!gradients.empty()) loss.backward();
    sum += loss.item<double>();
  }
  return sum;
}

}  // namespace thalweg
