// Linear regression, logistic or of a logarithm where the loss is: a score is the bias and a weight for each
// entry. Of classes: softmax_regression.cc.
#include "model/model_kind.h"
#include "model/scorer.h"
#include "model/softmax_regression.h"

namespace thalweg {
namespace {

std::unique_ptr<Model> make_lr(const ModelSpec& spec) {
  if (spec.loss == Loss::kClasses) return make_softmax_regression(spec);
  return std::make_unique<Scorer>(spec);
}

}  // namespace

extern constinit const ModelKind kLinearKind = {.name = "lr", .make = make_lr};

}  // namespace thalweg
