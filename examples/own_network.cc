// A network of one's own by LibTorch, trained by two workers: which of two spirals is a point on?
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/variable.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "thalweg/dense_model.h"
#include "thalweg/trainer.h"

using namespace thalweg;

at::Tensor over(std::span<const float> floats, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(floats.data()), shape, at::kFloat);
}

struct Spirals final : DenseModel {
  std::vector<DenseParameter> parameters() const override {
    using enum InitSpec::Kind;
    return {{"waves.weight", {64, 2}, kNormal, 2},
            {"waves.bias", {64}, kUniform, 3},
            {"outer.weight", {2, 64}, kNormal, 0.1f},
            {"outer.bias", {2}}};
  }
  double learn(const DenseRows& rows, std::span<const std::span<const float>> values, std::span<float> scores,
               std::span<const std::span<float>> gradients) override {
    const auto count = static_cast<std::int64_t>(rows.count);
    std::vector<at::Tensor> p;
    for (std::size_t i = 0; i < values.size(); ++i)
      p.push_back(over(values[i], shapes_[i].shape).requires_grad_(!gradients.empty()));
    const at::Tensor waves = at::sin(at::linear(over(rows.inputs, {count, 2}), p[0], p[1]));
    const at::Tensor outputs = at::linear(waves, p[2], p[3]);
    const at::Tensor labels = over(rows.labels, {count}).nan_to_num().clamp(0, 1).to(at::kLong);
    const at::Tensor losses = at::cross_entropy_loss(outputs, labels, {}, at::Reduction::None);
    const at::Tensor loss = (losses * over(rows.weights, {count})).sum();
    over(scores, {count}).copy_(outputs.detach().argmax(1));
    if (!gradients.empty()) loss.backward();
    for (std::size_t i = 0; i < gradients.size(); ++i)
      over(gradients[i], shapes_[i].shape).copy_(p[i].grad());
    return loss.item<double>();
  }
  const std::vector<DenseParameter> shapes_ = parameters();
};

int main() {
  at::set_num_threads(1);  // Each data shard computes on a thread of its own.
  const std::string path = std::filesystem::temp_directory_path() / "own_network.svm";
  std::ofstream points(path);
  for (int i = 0; i < 20000; ++i) {
    const double turn = i * 0.6180339887 - std::floor(i * 0.6180339887),
                 angle = turn * 9 + i % 2 * 3.14159265;
    points << i % 2 << " 0:" << turn * std::cos(angle) << " 1:" << turn * std::sin(angle) << '\n';
  }
  points.close();
  const DenseModelKind kind("spirals", [](const DenseSizes&) { return std::make_unique<Spirals>(); },
                            {.epochs = 12, .batch = 100, .rule = RuleKind::kAdam, .rate = 0.01f});
  TrainerOptions options;
  options.files = {path};
  options.model = "spirals";
  options.more.models = {kind.get()};
  options.valid_part = 7;
  options.workers = 2;
  auto trainer = Trainer::open(options);
  if (!trainer) return std::fprintf(stderr, "%s\n", trainer.status().message().c_str()), 1;
  const TrainResult result = trainer->run();
  std::printf("%.4f of the held-out points\n", result.valid_accuracy.value_or(0));
  return result.valid_accuracy > 0.95 ? 0 : 1;
}
