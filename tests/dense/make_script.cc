// make_script KIND FILE: modules as torch.jit.script(model).save(FILE) writes them.
//   linear   a score for each of three classes of 64 numbers, with weights of its own
//   huber    one score, and a loss of its own
//   wrong    makes two scores of a row
//   frozen   has no parameters that want gradients
#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdio>
#include <string>

namespace {

torch::jit::Module linear(std::int64_t outputs, bool learns) {
  torch::jit::Module inner("__torch__.Layer");
  const at::Tensor steps = at::arange(outputs * 64, at::kFloat).view({outputs, 64});
  inner.register_parameter("weight", torch::autograd::make_variable(steps.mul(0.37).sin_().mul_(0.1), learns),
                           false);
  inner.register_parameter("bias", torch::autograd::make_variable(at::zeros({outputs}), learns), false);
  inner.register_buffer("scale", at::full({}, 1.0f));
  inner.define("def forward(self, x):\n    return torch.linear(x, self.weight, self.bias) * self.scale\n");
  torch::jit::Module net("__torch__.Net");
  net.register_module("layer", inner);
  net.define("def forward(self, x):\n    return self.layer.forward(x)\n");
  return net;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string kind = argv[1];
  torch::jit::Module net = linear(kind == "linear" || kind == "frozen" ? 3
                                  : kind == "huber"                    ? 1
                                                                       : 2,
                                  kind != "frozen");
  if (kind == "huber") {
    net.define(
        "def loss(self, scores, labels):\n"
        "    far = torch.abs(scores - labels)\n"
        "    return torch.where(far < 1, far * far / 2, far - 0.5)\n");
  }
  net.save(argv[2]);
  return 0;
}
