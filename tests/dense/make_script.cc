// make_script KIND FILE: modules as torch.jit.script(model).save(FILE) writes them.
//   linear   a score for each of three classes of 64 numbers, with weights of its own
//   huber    one score, and a loss of its own
//   wrong    makes two scores of a row
//   frozen   has no parameters that want gradients
//   gained   as linear, times a parameter of no dimensions that begins at 1
//   narrow   takes 32 numbers
//   even     as linear, of an even number of rows alone
//   dark     as linear, of rows whose number 63 is at most 1.5
//   chatty   as linear, and prints the size of its rows
//   detached as linear, without gradients
//   doubled  as linear, with a loss of its own that takes twice the label for the class
#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdio>
#include <string>

namespace {

struct Kind {
  std::string name;
  std::int64_t outputs = 3;
  std::string forward = "self.layer.forward(x)";
  std::string loss = {};
  std::int64_t inputs = 64;
};

const Kind kKinds[] = {
    {.name = "linear"},
    {.name = "huber",
     .outputs = 1,
     .loss = "    far = torch.abs(scores - labels)\n"
             "    return torch.where(far < 1, far * far / 2, far - 0.5)\n"},
    {.name = "line", .outputs = 1},
    {.name = "hundredfold",
     .loss = "    of_class = torch.log_softmax(scores, 1)\n"
             "    return 100 * torch.nll_loss(of_class, labels.long(), None, 0)\n"},
    {.name = "wrong", .outputs = 2},
    {.name = "frozen"},
    {.name = "gained", .forward = "self.layer.forward(x) * self.gain"},
    {.name = "narrow", .inputs = 32},
    {.name = "even", .forward = "self.layer.forward(x).view(x.size(0) // 2, 2, 3).view(-1, 3)"},
    {.name = "dark", .forward = "self.checked(x)"},
    {.name = "chatty", .forward = "self.told(x)"},
    {.name = "detached", .forward = "self.layer.forward(x).detach()"},
    {.name = "doubled",
     .loss = "    of_class = torch.log_softmax(scores, 1)\n"
             "    return torch.nll_loss(of_class, 2 * labels.long(), None, 0)\n"},
};

torch::jit::Module made(const Kind& kind) {
  const bool learns = kind.name != "frozen";
  torch::jit::Module inner("__torch__.Layer");
  const at::Tensor steps =
      at::arange(kind.outputs * kind.inputs, at::kFloat).view({kind.outputs, kind.inputs});
  inner.register_parameter("weight", torch::autograd::make_variable(steps.mul(0.37).sin_().mul_(0.1), learns),
                           false);
  inner.register_parameter("bias", torch::autograd::make_variable(at::zeros({kind.outputs}), learns), false);
  inner.register_buffer("scale", at::full({}, 1.0f));
  inner.register_buffer("counted", at::full({2}, 7, at::kLong));
  inner.define("def forward(self, x):\n    return torch.linear(x, self.weight, self.bias) * self.scale\n");
  torch::jit::Module net("__torch__.Net");
  net.register_module("layer", inner);
  if (kind.name == "gained")
    net.register_parameter("gain", torch::autograd::make_variable(at::full({}, 1.0f), true), false);
  if (kind.name == "dark") {
    net.define(
        "def checked(self, x):\n"
        "    assert bool((x[:, 63] <= 1.5).all()), \"a row is too bright\"\n"
        "    return self.layer.forward(x)\n");
  }
  if (kind.name == "chatty") {
    net.define(
        "def told(self, x):\n"
        "    print(\"rows of\", x.size(1))\n"
        "    return self.layer.forward(x)\n");
  }
  net.define("def forward(self, x):\n    return " + kind.forward + "\n");
  if (!kind.loss.empty()) net.define("def loss(self, scores, labels):\n" + kind.loss);
  return net;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (const Kind& kind : kKinds) {
    if (kind.name != argv[1]) continue;
    made(kind).save(argv[2]);
    return 0;
  }
  return 2;
}
