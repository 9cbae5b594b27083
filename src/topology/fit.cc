#include "topology/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace thalweg {
namespace {

constexpr int kRounds = 50;
constexpr double kHuber = 1.345;  // In standard deviations of normal errors, see Huber (1981).
constexpr double kMedianToSigma = 1.4826;

struct Line {
  double latency = 0;       // Seconds.
  double byte_seconds = 0;  // Seconds per byte.
  double at(double bytes) const { return latency + bytes * byte_seconds; }
};

// Least squares with non-negative parameters: where the best line has a negative one, the best without it.
Line best_line(const std::vector<Sample>& samples, const std::vector<double>& weights) {
  double sum = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double w = weights[i], bytes = samples[i].bytes, seconds = samples[i].seconds;
    sum += w;
    x += w * bytes;
    y += w * seconds;
    xx += w * bytes * bytes;
    xy += w * bytes * seconds;
  }
  const double determinant = sum * xx - x * x;
  if (determinant > 0) {
    const Line line{(xx * y - x * xy) / determinant, (sum * xy - x * y) / determinant};
    if (line.latency >= 0 && line.byte_seconds >= 0) return line;
    if (line.byte_seconds < 0) return {y / sum, 0};
  }
  return {0, xx > 0 ? xy / xx : 0};
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> relative_errors(const std::vector<Sample>& samples, const Line& line) {
  std::vector<double> errors;
  for (const Sample& sample : samples) {
    errors.push_back(std::abs(line.at(sample.bytes) - sample.seconds) / sample.seconds);
  }
  return errors;
}

Line robust_line(const std::vector<Sample>& samples) {
  std::vector<double> weights;
  for (const Sample& sample : samples) weights.push_back(1 / (sample.seconds * sample.seconds));
  Line line = best_line(samples, weights);
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<double> errors = relative_errors(samples, line);
    const double limit = std::max(kHuber * kMedianToSigma * median(errors), 1e-12);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double seconds = samples[i].seconds;
      weights[i] = std::min(1.0, limit / std::max(errors[i], 1e-300)) / (seconds * seconds);
    }
    line = best_line(samples, weights);
  }
  return line;
}

}  // namespace

Result<LinkFit> fit_link(const std::vector<Sample>& samples) {
  const auto refuse = [](std::string why) {
    return Status(Code::kUsage, "no link fits the samples: " + why);
  };
  for (const Sample& sample : samples) {
    if (!std::isfinite(sample.bytes) || !std::isfinite(sample.seconds) || sample.bytes < 0 ||
        sample.seconds <= 0) {
      return refuse(fmt::format("{} bytes in {} seconds; expected sizes of 0 or more and times above 0",
                                sample.bytes, sample.seconds));
    }
  }
  const auto differs = [&](const Sample& sample) { return sample.bytes != samples.front().bytes; };
  if (std::none_of(samples.begin(), samples.end(), differs)) {
    return refuse(fmt::format("{} of them; expected two different sizes or more", samples.size()));
  }
  const Line line = robust_line(samples);
  if (!(line.byte_seconds > 0)) return refuse("larger ones took no longer; expected time to grow with size");
  LinkFit fit;
  fit.speed = {1 / line.byte_seconds, static_cast<std::uint64_t>(std::llround(line.latency * 1e9))};
  fit.error = median(relative_errors(samples, line));
  return fit;
}

Room measured_room(std::string name, std::uint32_t ranks, LinkSpeed speed) {
  Room room;
  room.name = std::move(name);
  const std::uint32_t place[kLevels] = {0, kNowhere, kNowhere};
  const NodeIndex hub = room.add(NodeKind::kSwitch, "memory", place);
  for (std::uint32_t i = 0; i < ranks; ++i) {
    room.ranks.push_back(room.add(NodeKind::kDevice, fmt::format("rank{}", i), place));
    room.cables.push_back({room.ranks.back(), hub, speed, {speed.bytes_per_second, 0}, false});
  }
  return room;
}

}  // namespace thalweg
