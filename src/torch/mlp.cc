// h = relu(W h + b) for each hidden layer, then scores = W h + b. Names are those of
// torch.nn.Sequential(Linear, ReLU, Linear, ...). Without hidden layers it is softmax regression.
#include "torch/network.h"

namespace thalweg {
namespace {

class Perceptron final : public Network {
 public:
  explicit Perceptron(const ModelSpec& spec) : widths_{static_cast<std::int64_t>(spec.inputs)} {
    widths_.insert(widths_.end(), spec.hidden.begin(), spec.hidden.end());
    widths_.push_back(outputs_of(spec));
  }
  std::vector<Parameter> parameters() const override {
    std::vector<Parameter> out;
    for (std::size_t l = 0; l + 1 < widths_.size(); ++l) {
      add_layer(out, std::to_string(2 * l), {widths_[l + 1], widths_[l]});
    }
    return out;
  }
  at::Tensor forward(const std::vector<at::Tensor>& p, const at::Tensor& inputs) const override {
    at::Tensor h = inputs;
    for (std::size_t l = 0; l < p.size(); l += 2) {
      h = at::linear(h, p[l], p[l + 1]);
      if (l + 2 < p.size()) h = at::relu(h);
    }
    return h;
  }

 private:
  std::vector<std::int64_t> widths_;
};

std::unique_ptr<Network> make_mlp(const ModelSpec& spec) { return std::make_unique<Perceptron>(spec); }

}  // namespace

extern constinit const NetworkKind kSoftmaxNetwork = {"softmax", nullptr, make_mlp};
extern constinit const NetworkKind kMlpNetwork = {"mlp", nullptr, make_mlp};

}  // namespace thalweg
