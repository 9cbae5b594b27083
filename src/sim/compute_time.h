// How long simulated workers compute for a gradient.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/instant.h"
#include "base/random.h"
#include "thalweg/status.h"

namespace thalweg::sim {

class ComputeTime {
 public:
  ComputeTime() = default;  // No time at all.
  // "30ms"; "normal(1s,5%)": mean and standard deviation, as a part of the mean or a time;
  // "lognormal(30ms,0.3)": mean and standard deviation of the logarithm. kUsage otherwise.
  static Result<ComputeTime> parse(std::string_view text);

  Duration draw(Random& random) const;
  Duration mean() const { return mean_; }

 private:
  enum class Kind : std::uint8_t { kConstant, kNormal, kLognormal } kind_ = Kind::kConstant;
  Duration mean_{};
  double spread_ = 0;  // Of the mean.
};

// Workers that take longer for everything.
struct Stragglers {
  std::uint32_t count = 0;  // Of every `among` workers, the first so many.
  std::uint32_t among = 1;
  double times = 1;

  // "1 of 4, x4". kUsage otherwise.
  static Result<Stragglers> parse(std::string_view text);
  double times_of(std::uint32_t worker) const { return worker % among < count ? times : 1; }
};

}  // namespace thalweg::sim
