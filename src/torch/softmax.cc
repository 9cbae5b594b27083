// scores = W x + b.
#include "torch/network.h"

namespace thalweg {
namespace {

class Softmax final : public Network {
 public:
  explicit Softmax(const ModelSpec& spec) : inputs_(spec.inputs), outputs_(outputs_of(spec)) {}
  std::vector<Parameter> parameters() const override {
    std::vector<Parameter> out;
    add_layer(out, "0", {outputs_, inputs_});
    return out;
  }
  at::Tensor forward(const std::vector<at::Tensor>& p, const at::Tensor& inputs) const override {
    return at::linear(inputs, p[0], p[1]);
  }

 private:
  std::int64_t inputs_, outputs_;
};

std::unique_ptr<Network> make_softmax(const ModelSpec& spec) { return std::make_unique<Softmax>(spec); }

}  // namespace

extern constinit const NetworkKind kSoftmaxNetwork = {"softmax", nullptr, make_softmax};

}  // namespace thalweg
