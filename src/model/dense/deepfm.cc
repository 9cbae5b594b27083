// Factorization machine with a perceptron over its factors.
#include "model/dense/dense_kind.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kDeepHidden[] = {64, 32};
constexpr DeepDefaults kDeepFmDefaults = {.hidden = kDeepHidden, .epochs = 1, .rate = 0.01f};

}  // namespace

extern constinit const ModelKind kDeepFactorizationKind = {.name = "deepfm",
                                                           .factors = true,
                                                           .deep = &kDeepFmDefaults,
                                                           .check = check_dense_kind,
                                                           .make = make_dense};

}  // namespace thalweg
