// Softmax regression: a score for each class is a bias and a weight for each input.
#include "model/dense/dense_kind.h"

namespace thalweg {
namespace {

constexpr DenseDefaults kSoftmaxDefaults = {.epochs = 10, .rate = 0.05f};

}  // namespace

extern constinit const ModelKind kSoftmaxKind = {
    .name = "softmax", .dense = &kSoftmaxDefaults, .check = check_dense_kind, .make = make_dense};

}  // namespace thalweg
