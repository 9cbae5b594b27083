// Two ranks train one small network on data of their own, and exchange each layer's gradient while the layers
// before it are still at work. Threads stand for processes here: with Group::join() instead of in_process(),
// each rank is a process of its own.
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "thalweg/gradients.h"
#include "thalweg/group.h"

namespace {

constexpr std::size_t kLayers = 4, kWidth = 8;
constexpr int kSteps = 300;
constexpr float kRate = 0.05f;

// A chain of layers: each scales and shifts its input, element by element, and bends it.
struct Layer {
  std::vector<float> weights = std::vector<float>(2 * kWidth, 0.5f);
};

float bend(float x) { return std::tanh(x); }

// One step on the sample x: forwards through all layers, then backwards, announcing gradients on the way.
thalweg::Status step(std::vector<Layer>& layers, thalweg::Gradients& grads, float x, float target,
                     float& loss) {
  std::vector<std::vector<float>> values(kLayers + 1, std::vector<float>(kWidth, x));
  for (std::size_t l = 0; l < kLayers; ++l) {
    // What this layer learned last time has arrived by now, or is waited for: the first layers come first.
    if (thalweg::Status status = grads.wait(l); !status.ok()) return status;
    for (std::size_t i = 0; i < 2 * kWidth; ++i) layers[l].weights[i] -= kRate * grads.tensor(l)[i];
    for (std::size_t i = 0; i < kWidth; ++i) {
      values[l + 1][i] = bend(layers[l].weights[i] * values[l][i] + layers[l].weights[kWidth + i]);
    }
  }
  std::vector<float> error(kWidth);
  for (std::size_t i = 0; i < kWidth; ++i) {
    error[i] = values[kLayers][i] - target;
    loss += error[i] * error[i] / kWidth;
  }
  for (std::size_t l = kLayers; l-- > 0;) {
    for (std::size_t i = 0; i < kWidth; ++i) {
      const float slope = error[i] * (1 - values[l + 1][i] * values[l + 1][i]);
      grads.tensor(l)[i] = slope * values[l][i];
      grads.tensor(l)[kWidth + i] = slope;
      error[i] = slope * layers[l].weights[i];
    }
    if (thalweg::Status status = grads.announce(l); !status.ok()) return status;
  }
  return thalweg::ok_status();
}

thalweg::Status train(thalweg::Group& group, float& first_loss, float& last_loss) {
  std::vector<thalweg::GradientSpec> tensors;
  for (std::size_t l = 0; l < kLayers; ++l) tensors.push_back({"layer" + std::to_string(l), 2 * kWidth});
  auto grads = thalweg::Gradients::create(group, tensors);
  if (!grads) return grads.status();
  std::vector<Layer> layers(kLayers);
  for (int i = 0; i < kSteps; ++i) {
    const float x = 0.2f + 0.3f * static_cast<float>((i + static_cast<int>(group.rank())) % 3);
    float loss = 0;
    if (thalweg::Status status = step(layers, *grads, x, 0.5f * x, loss); !status.ok()) return status;
    if (i < 3) first_loss += loss / 3;
    if (i >= kSteps - 3) last_loss += loss / 3;
  }
  return grads->wait_all();
}

}  // namespace

int main() {
  std::vector<thalweg::Group> groups = thalweg::Group::in_process(2);
  float first_loss[2] = {}, last_loss[2] = {};
  thalweg::Status status[2];
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < 2; ++r) {
    ranks.emplace_back([&, r] { status[r] = train(groups[r], first_loss[r], last_loss[r]); });
  }
  for (std::thread& rank : ranks) rank.join();
  for (std::size_t r = 0; r < 2; ++r) {
    if (!status[r].ok()) {
      std::fprintf(stderr, "rank %zu: %s\n", r, status[r].message().c_str());
      return 1;
    }
    std::printf("rank %zu: loss %.4f, then %.4f\n", r, static_cast<double>(first_loss[r]),
                static_cast<double>(last_loss[r]));
    if (!(last_loss[r] < first_loss[r] / 4)) return 1;
  }
  return 0;
}
