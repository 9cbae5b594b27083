// Multi-layer perceptron: layers that are all connected, with rectifiers between.
#include "model/dense/dense_kind.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kHidden[] = {512, 512};
constexpr DenseDefaults kDefaults = {.epochs = 10, .hidden = kHidden, .takes_hidden = true};

}  // namespace

extern constinit const ModelKind kPerceptronKind = {
    .name = "mlp", .dense = &kDefaults, .check = check_dense_kind, .make = make_dense};

}  // namespace thalweg
