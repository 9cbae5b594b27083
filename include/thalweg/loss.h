// What a model is trained to make small.
#pragma once

#include <cstdint>

namespace thalweg {

// Logistic: labels are clicks and predictions probabilities. Squared: both are any numbers.
enum class Loss : std::uint8_t { kLogistic, kSquared };

}  // namespace thalweg
