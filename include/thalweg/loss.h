// What a model is trained to make small.
#pragma once

#include <cstdint>

namespace thalweg {

// Logistic: labels are clicks and predictions probabilities. Squared: both are any numbers. Classes: both are
// whole numbers from 0, and the loss is -log(probability of the label's class), by softmax. Bytes: a row is a
// piece of text, and its loss the sum over its bytes of -log(probability of the byte that follows). Poisson:
// labels are counts from 0 and predictions their means, whose logarithms scores are.
enum class Loss : std::uint8_t { kLogistic, kSquared, kClasses, kBytes, kPoisson };

}  // namespace thalweg
