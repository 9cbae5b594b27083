// The speed of a link from measurements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/status.h"
#include "topology/room.h"

namespace thalweg {

struct Sample {
  double bytes = 0;
  double seconds = 0;  // How long so many bytes took, one way.
};

struct LinkFit {
  LinkSpeed speed;
  double error = 0;  // Median over the samples of |predicted - measured| / measured.
};

// The line seconds = latency + bytes / bandwidth that comes nearest to the samples in relative terms:
// weighted least squares, repeated with less weight for what lies far off (Huber's weights), neither
// parameter below 0. kUsage when there are fewer than two different sizes, or time does not grow with size.
Result<LinkFit> fit_link(const std::vector<Sample>& samples);

// Ranks of one machine as measured: a device each around a switch, whose link to it has the fitted speed, the
// latency on the way there.
Room measured_room(std::string name, std::uint32_t ranks, LinkSpeed speed);

}  // namespace thalweg
