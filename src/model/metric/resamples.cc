#include "model/metric/resamples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace thalweg {
namespace {

// Of 65,536 draws those below the first count 0 times, below the second once, and so on: the distribution
// function of the Poisson distribution of mean 1, such that the mean is exact.
constexpr std::array<std::uint32_t, 7> kPoissonSteps = {24109, 48218, 60273, 64292, 65296, 65497, 65531};

double quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

void draw_times(Random& random, std::span<double> times) {
  times[0] = 1;
  std::uint64_t bits = 0;
  for (std::size_t c = 1; c < times.size(); ++c, bits >>= 16) {
    if (c % 4 == 1) bits = random.next();
    const auto draw = static_cast<std::uint32_t>(bits & 0xffff);
    std::uint32_t count = 0;
    for (const std::uint32_t step : kPoissonSteps) count += draw >= step ? 1 : 0;
    times[c] = count;
  }
}

Spread interval_of_distances(std::span<const double> by_column) {
  constexpr double kOutside = 0.025;
  std::vector<double> distances;
  for (const double value : by_column.subspan(1)) {
    if (std::isfinite(value - by_column[0])) distances.push_back(value - by_column[0]);
  }
  if (distances.empty()) {
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  }
  std::sort(distances.begin(), distances.end());
  return {quantile(distances, kOutside), quantile(distances, 1 - kOutside)};
}

}  // namespace thalweg
