// How much of a copy may be under way to a server that joins: as much as is on the path, and little that
// waits in line there, for log entries wait behind it. L. Brakmo, L. Peterson, "TCP Vegas: End to End
// Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995, section 3.2: what waits in line is known
// by how much later an answer comes than the soonest one.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/instant.h"
#include "base/limits.h"

namespace thalweg::replication {

class CopyWindow {
 public:
  // Precondition: pieces are of a byte at least.
  explicit CopyWindow(std::size_t piece_bytes)
      : piece_(static_cast<double>(piece_bytes)), bytes_(limits::kCopyPiecesInFlightLeast * piece_) {}

  std::size_t bytes() const { return static_cast<std::size_t>(bytes_); }

  // A piece of so many bytes was acknowledged as long after it was handed over to be sent.
  void on_acknowledged(Duration took, std::size_t bytes) {
    took = std::max(took, Duration{1});
    soonest_ = std::min(soonest_, took);
    const double late = 1 - static_cast<double>(soonest_.count()) / static_cast<double>(took.count());
    const double in_line = bytes_ * late / piece_;
    const double acknowledged = static_cast<double>(bytes);
    doubles_ = doubles_ && in_line < kInLineLeast;
    if (in_line < kInLineLeast) {
      bytes_ += doubles_ ? acknowledged : piece_ * acknowledged / bytes_;
    } else if (in_line > kInLineMost) {
      bytes_ -= piece_ * acknowledged / bytes_;
    }
    bytes_ = std::clamp(bytes_, limits::kCopyPiecesInFlightLeast * piece_,
                        limits::kCopyPiecesInFlightMost * piece_);
  }

 private:
  static constexpr double kInLineLeast = 1, kInLineMost = 3;  // Pieces, which Vegas calls alpha and beta.

  double piece_, bytes_;
  Duration soonest_ = Duration::max();
  bool doubles_ = true;  // Each round trip, until something has waited in line.
};

}  // namespace thalweg::replication
