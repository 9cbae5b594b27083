// Multi-layer perceptron: layers that are all connected, with rectifiers between.
#include "model/dense/dense_kind.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kMlpHidden[] = {512, 512};
constexpr DenseDefaults kMlpDefaults = {.epochs = 10, .hidden = kMlpHidden, .takes_hidden = true};

}  // namespace

extern constinit const ModelKind kPerceptronKind = {
    .name = "mlp", .dense = &kMlpDefaults, .check = check_dense_kind, .make = make_dense};

}  // namespace thalweg
