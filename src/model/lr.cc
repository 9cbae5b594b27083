// Linear regression, logistic where the loss is: a score is the bias and a weight for each entry.
#include "model/model_kind.h"
#include "model/scorer.h"

namespace thalweg {
namespace {

std::unique_ptr<Model> make_lr(const ModelSpec& spec) { return std::make_unique<Scorer>(spec); }

}  // namespace

extern constinit const ModelKind kLinearKind = {.name = "lr", .make = make_lr};

}  // namespace thalweg
