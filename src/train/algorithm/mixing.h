// Who mixes with whom in decentralised training, and how much of each other they take: X. Lian et al., "Can
// Decentralized Algorithms Outperform Centralized Algorithms?", NIPS 2017, assumption 1.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "thalweg/status.h"

namespace thalweg {

// size * size weights by rows: symmetric, each from 0 to 1, each row adding up to 1.
struct MixingMatrix {
  std::uint32_t size = 0;
  std::vector<double> weights;
  double operator()(std::uint32_t i, std::uint32_t j) const { return weights[std::size_t{i} * size + j]; }
};

// `graph`: ring (a third for each neighbour and itself), torus, exponential (those 2^k away), complete, or a
// file of `size` lines of `size` numbers. Errors: kUsage, kData naming the line.
Result<MixingMatrix> mixing_matrix(std::string_view graph, std::uint32_t size);

// OK, or kUsage with what of the definition does not hold.
Status check(const MixingMatrix& matrix);

// The second largest absolute eigenvalue: by this factor a step brings replicas closer to their mean.
double second_eigenvalue(const MixingMatrix& matrix);

}  // namespace thalweg
