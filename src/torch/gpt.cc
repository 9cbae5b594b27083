// Decoder-only transformer: blocks of causal attention and a perceptron of 4 times the width, each behind a
// layer norm (A. Radford et al., "Language Models are Unsupervised Multitask Learners", 2019). Names, shapes
// and initial values are those of nanoGPT with biases; its lm_head is transformer.wte.
#include <cmath>
#include <limits>

#include "torch/network.h"

namespace thalweg {
namespace {

constexpr std::int64_t kBytes = 256;
constexpr std::size_t kTokensAtOnce = 2048;
constexpr std::size_t kTensorsOfBlock = 12;

class Gpt final : public Network {
 public:
  explicit Gpt(const ModelSpec& spec)
      : context_(spec.inputs), layers_(spec.layers), width_(spec.width), heads_(spec.heads) {
    mask_ = at::full({context_, context_}, -std::numeric_limits<float>::infinity()).triu(1);
  }
  std::vector<Parameter> parameters() const override;
  at::Tensor forward(const std::vector<at::Tensor>& p, const at::Tensor& inputs) const override;
  std::size_t rows_at_once() const override {
    return std::max<std::size_t>(1, kTokensAtOnce / static_cast<std::size_t>(context_));
  }

 private:
  at::Tensor normed(const at::Tensor& x, const at::Tensor* weight) const {
    return at::layer_norm(x, {width_}, weight[0], weight[1]);
  }
  at::Tensor attend(const at::Tensor& x, const at::Tensor* p) const;

  const std::int64_t context_, layers_, width_, heads_;
  at::Tensor mask_;  // Added to scores: -inf for what lies ahead.
};

std::vector<Parameter> Gpt::parameters() const {
  constexpr float kScale = 0.02f;
  std::vector<Parameter> out;
  const auto matrix = [&](const std::string& name, std::int64_t rows, std::int64_t columns, float scale) {
    out.push_back({name + ".weight", {rows, columns}, InitSpec::Kind::kNormal, scale});
  };
  const auto linear = [&](const std::string& name, std::int64_t outputs, std::int64_t inputs, float scale) {
    matrix(name, outputs, inputs, scale);
    out.push_back({name + ".bias", {outputs}});
  };
  const auto norm = [&](const std::string& name) {
    out.push_back({name + ".weight", {width_}, InitSpec::Kind::kConstant, 1});
    out.push_back({name + ".bias", {width_}});
  };
  matrix("transformer.wte", kBytes, width_, kScale);
  matrix("transformer.wpe", context_, width_, kScale);
  const float into_sum = kScale / std::sqrt(2.0f * static_cast<float>(layers_));
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    const std::string block = "transformer.h." + std::to_string(layer) + ".";
    norm(block + "ln_1");
    linear(block + "attn.c_attn", 3 * width_, width_, kScale);
    linear(block + "attn.c_proj", width_, width_, into_sum);
    norm(block + "ln_2");
    linear(block + "mlp.c_fc", 4 * width_, width_, kScale);
    linear(block + "mlp.c_proj", width_, 4 * width_, into_sum);
  }
  norm("transformer.ln_f");
  return out;
}

// `p`: weight and bias of c_attn, then of c_proj.
at::Tensor Gpt::attend(const at::Tensor& x, const at::Tensor* p) const {
  const std::int64_t rows = x.size(0), part = width_ / heads_;
  // [3, rows * heads, context, part]
  const at::Tensor all = at::linear(x, p[0], p[1])
                             .view({rows, context_, 3, heads_, part})
                             .permute({2, 0, 3, 1, 4})
                             .reshape({3, rows * heads_, context_, part});
  const double scale = 1 / std::sqrt(static_cast<double>(part));
  const at::Tensor scores = at::baddbmm(mask_, all[0], all[1].transpose(1, 2), 1, scale);
  const at::Tensor mixed = at::bmm(at::softmax(scores, -1), all[2]);
  const at::Tensor side_by_side =
      mixed.view({rows, heads_, context_, part}).transpose(1, 2).reshape({rows, context_, width_});
  return at::linear(side_by_side, p[2], p[3]);
}

at::Tensor Gpt::forward(const std::vector<at::Tensor>& p, const at::Tensor& inputs) const {
  at::Tensor x = at::embedding(p[0], inputs.to(at::kLong)) + p[1];
  const at::Tensor* of = p.data() + 2;
  for (std::int64_t layer = 0; layer < layers_; ++layer, of += kTensorsOfBlock) {
    x = x + attend(normed(x, of), of + 2);
    const at::Tensor inner = at::gelu(at::linear(normed(x, of + 6), of[8], of[9]));
    x = x + at::linear(inner, of[10], of[11]);
  }
  return at::linear(normed(x, of), p[0]);
}

std::unique_ptr<Network> make_gpt(const ModelSpec& spec) { return std::make_unique<Gpt>(spec); }

}  // namespace

extern constinit const NetworkKind kGptNetwork = {"gpt", nullptr, make_gpt};

}  // namespace thalweg
