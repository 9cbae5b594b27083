// Convolutional network for square images of one channel.
#include "model/dense/dense_kind.h"

namespace thalweg {
namespace {

constexpr DenseDefaults kConvnetDefaults = {.epochs = 8, .rate = 0.02f};

}  // namespace

extern constinit const ModelKind kConvnetKind = {
    .name = "convnet", .dense = &kConvnetDefaults, .check = check_dense_kind, .make = make_dense};

}  // namespace thalweg
