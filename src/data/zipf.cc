#include "data/zipf.h"

#include <algorithm>
#include <cmath>

namespace thalweg {
namespace {
constexpr std::uint64_t kHeadRanks = 2048;
}

double Zipf::integral(double x) const { return std::pow(x, 1.0 - s_) / (1.0 - s_); }
double Zipf::integral_inverse(double y) const { return std::pow(y * (1.0 - s_), 1.0 / (1.0 - s_)); }

Zipf::Zipf(std::uint64_t n, double s)
    : n_(n), s_(s), head_(static_cast<std::uint32_t>(std::min(n, kHeadRanks))) {
  std::vector<double> weights(head_);
  double sum = 0;
  for (std::uint32_t k = 0; k < head_; ++k) sum += weights[k] = std::pow(k + 1.0, -s);
  if (n > head_) {
    double tail = 0;
    // Far out the sum is its integral by the midpoint rule, to far below what a sample can tell.
    const std::uint64_t summed = std::min<std::uint64_t>(n, 64 * kHeadRanks);
    for (std::uint64_t k = head_; k < summed; ++k) tail += std::pow(static_cast<double>(k) + 1.0, -s);
    if (n > summed)
      tail += integral(static_cast<double>(n) + 0.5) - integral(static_cast<double>(summed) + 0.5);
    weights.push_back(tail);
    sum += tail;
    tail_low_ = integral(static_cast<double>(head_) + 0.5);
    tail_high_ = integral(static_cast<double>(n) + 0.5);
  }
  const std::size_t count = weights.size();
  std::vector<std::uint32_t> small, large;
  for (std::uint32_t k = 0; k < count; ++k) {
    weights[k] *= static_cast<double>(count) / sum;
    (weights[k] < 1.0 ? small : large).push_back(k);
  }
  for (std::uint32_t k = 0; k < count; ++k) slots_.push_back({UINT32_MAX, k, k});
  while (!small.empty() && !large.empty()) {
    const std::uint32_t less = small.back(), more = large.back();
    small.pop_back();
    slots_[less] = {static_cast<std::uint32_t>(weights[less] * 4294967295.0), less, more};
    weights[more] -= 1.0 - weights[less];
    if (weights[more] < 1.0) {
      large.pop_back();
      small.push_back(more);
    }
  }
}

std::uint64_t Zipf::draw_tail(Random& random) const {
  for (;;) {
    const double u = tail_low_ + random.unit() * (tail_high_ - tail_low_);
    const double x = std::clamp(std::nearbyint(integral_inverse(u)), head_ + 1.0, static_cast<double>(n_));
    // The part of [x - 1/2, x + 1/2] above the rank's own share x^-s is rejected.
    if (u >= integral(x + 0.5) - std::pow(x, -s_)) return static_cast<std::uint64_t>(x) - 1;
  }
}

}  // namespace thalweg
