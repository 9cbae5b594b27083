// A network of one's own by LibTorch, trained by two workers: which of two spirals is a point on?
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "thalweg/torch_network.h"
#include "thalweg/trainer.h"

using namespace thalweg;

struct Spirals final : TorchNetwork {
  using TorchNetwork::TorchNetwork;
  std::vector<DenseParameter> parameters() const override {
    using enum InitSpec::Kind;
    return {{"waves.weight", {64, 2}, kNormal, 2},
            {"waves.bias", {64}, kUniform, 3},
            {"outer.weight", {2, 64}, kNormal, 0.1f},
            {"outer.bias", {2}}};
  }
  at::Tensor forward(const std::vector<at::Tensor>& p, const at::Tensor& inputs) const override {
    return at::linear(at::sin(at::linear(inputs, p[0], p[1])), p[2], p[3]);
  }
};

int main() {
  const std::string path = std::filesystem::temp_directory_path() / "own_network.svm";
  std::ofstream points(path);
  for (int i = 0; i < 20000; ++i) {
    const double turn = i * 0.6180339887 - std::floor(i * 0.6180339887),
                 angle = turn * 9 + i % 2 * 3.14159265;
    points << i % 2 << " 0:" << turn * std::cos(angle) << " 1:" << turn * std::sin(angle) << '\n';
  }
  points.close();
  const DenseModelKind kind("spirals",
                            [](const DenseSizes& sizes) { return std::make_unique<Spirals>(sizes); },
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
