// Two convolutions of 3 x 3, each with a rectifier and pooling by 2, then a hidden layer of 128.
#include <algorithm>
#include <cmath>

#include "torch/network.h"

namespace thalweg {
namespace {

constexpr std::int64_t kFirst = 32, kSecond = 64, kHidden = 128, kKernel = 3;

std::int64_t side_of(const ModelSpec& spec) {
  return std::lround(std::sqrt(static_cast<double>(spec.inputs)));
}

class Convnet final : public Network {
 public:
  explicit Convnet(const ModelSpec& spec) : side_(side_of(spec)), outputs_(outputs_of(spec)) {}
  std::vector<Parameter> parameters() const override {
    const std::int64_t pooled = side_ / 4;
    std::vector<Parameter> out;
    add_layer(out, "conv1", {kFirst, 1, kKernel, kKernel});
    add_layer(out, "conv2", {kSecond, kFirst, kKernel, kKernel});
    add_layer(out, "fc1", {kHidden, kSecond * pooled * pooled});
    add_layer(out, "fc2", {outputs_, kHidden});
    return out;
  }
  at::Tensor forward(const std::vector<at::Tensor>& p, const at::Tensor& inputs) const override {
    at::Tensor h = inputs.view({-1, 1, side_, side_});
    h = at::max_pool2d(at::relu(at::conv2d(h, p[0], p[1], 1, 1)), 2);
    h = at::max_pool2d(at::relu(at::conv2d(h, p[2], p[3], 1, 1)), 2);
    h = at::relu(at::linear(h.flatten(1), p[4], p[5]));
    return at::linear(h, p[6], p[7]);
  }
  // As many as take the room of 256 images of 28 x 28, at 200 KB each.
  std::size_t rows_at_once() const override {
    constexpr std::int64_t kPixels = std::int64_t{256} * 28 * 28, kMost = 256;
    return static_cast<std::size_t>(std::clamp<std::int64_t>(kPixels / (side_ * side_), 1, kMost));
  }

 private:
  std::int64_t side_, outputs_;
};

Status check_convnet(const ModelSpec& spec) {
  const std::int64_t side = side_of(spec);
  if (spec.inputs == 0 || (side * side == static_cast<std::int64_t>(spec.inputs) && side >= 4))
    return ok_status();
  return {Code::kUsage,
          "convnet takes square images of one channel and at least 4 x 4 pixels; rows of " +
              std::to_string(spec.inputs) +
              " numbers are none\nhint: --inputs says how many there are, where the last ones are 0"};
}

std::unique_ptr<Network> make_convnet(const ModelSpec& spec) { return std::make_unique<Convnet>(spec); }

}  // namespace

extern constinit const NetworkKind kConvnetNetwork = {"convnet", check_convnet, make_convnet};

}  // namespace thalweg
