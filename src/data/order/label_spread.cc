#include "data/order/label_spread.h"

#include <algorithm>
#include <cmath>

namespace thalweg {
namespace {

constexpr std::size_t kSpreadParts = 32, kRowsOfPart = 20;

// What a sum of squares of so many standard normal values is above its mean, in standard deviations (Wilson
// and Hilferty, The distribution of chi-square, PNAS 1931).
double sigmas_of_chi_square(double sum, double degrees) {
  const double spread = 2 / (9 * degrees);
  return (std::cbrt(sum / degrees) - (1 - spread)) / std::sqrt(spread);
}

}  // namespace

LabelSpread label_spread(std::span<const float> labels) {
  const std::size_t parts = std::min(kSpreadParts, labels.size() / kRowsOfPart);
  if (parts < 2) return {};
  LabelSpread out;
  const std::size_t each = labels.size() / parts;
  const auto count = static_cast<double>(each), all = static_cast<double>(each * parts);
  out.rows = each * parts;
  out.parts = static_cast<std::uint32_t>(parts);
  double sum = 0, squares = 0, squares_of_parts = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    double part_sum = 0;
    for (const float label : labels.subspan(part * each, each)) {
      part_sum += static_cast<double>(label);
      squares += static_cast<double>(label) * static_cast<double>(label);
    }
    const double mean = part_sum / count;
    out.least = part == 0 ? mean : std::min(out.least, mean);
    out.most = part == 0 ? mean : std::max(out.most, mean);
    sum += part_sum;
    squares_of_parts += part_sum * mean;
  }
  const double total = squares - sum * sum / all, between = squares_of_parts - sum * sum / all;
  out.mean = sum / all;
  out.deviation = std::sqrt(std::max(0.0, total / all));
  if (!(total > 0)) return out;  // All labels are the same.
  const auto degrees = static_cast<double>(parts - 1);
  const double of_parts = between / degrees, within = (total - between) / (all - static_cast<double>(parts));
  out.between = std::max(0.0, (of_parts - within) / (of_parts + (count - 1) * within));
  out.sigmas = sigmas_of_chi_square(between / (total / (all - 1)), degrees);
  return out;
}

}  // namespace thalweg
