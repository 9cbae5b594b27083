// Which way vectors in ordinary memory go between two ranks of one machine. Which is the fastest depends on
// their length and on whether the ranks' cores share a cache, and changes when the system moves them, so it
// is measured operation by operation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/instant.h"
#include "exchange/call.h"
#include "thalweg/group.h"

namespace thalweg {

// May be used by several threads. One of the two ranks decides; the other follows.
class CopyTuner {
 public:
  static constexpr std::uint8_t kUntuned = 0xff;
  struct Trial {
    CopyWay way = CopyWay::kFetch;
    std::uint8_t course = kUntuned;
    std::size_t bytes = 0;
    Instant begun{};
    bool is_timed() const { return course != kUntuned; }
  };
  static constexpr std::size_t kTunedBytesMin = std::size_t{16} << 10;  // Below it both take as long.

  // For an operation on so many bytes that begins now.
  Trial begin(Operation operation, std::size_t bytes, Instant now);
  // It has ended well, not in group memory. Precondition: is_timed().
  void end(const Trial& trial, Instant now);

 private:
  static constexpr std::size_t kWays = 3;
  static constexpr std::size_t kKept = 4;  // Least of so many, since others' turns make some take longer.
  static constexpr std::uint32_t kRetryFirst = 64,
                                 kRetryLast = 512;  // Operations between two rounds of tries.
  // Of rings that messages go through and have not been touched yet: their first pages cost ten times as
  // much.
  static constexpr std::size_t kFreshBytes = std::size_t{4} << 20;
  static constexpr std::size_t kSizes = 16, kOperations = 4;  // Sizes by powers of two.

  struct Tried {
    std::array<Duration, kKept> took{};
    std::size_t count = 0;
    Duration least() const;
    void note(Duration time) { took[count++ % kKept] = time; }
  };
  // Of one operation at one size.
  struct Course {
    std::array<Tried, kWays> ways;
    Tried& of(CopyWay way) { return ways[static_cast<std::size_t>(way)]; }
    // Is tried until there are enough, one after the other, since what a way touches is in no cache at first.
    std::optional<CopyWay> unknown() const;
    CopyWay quickest() const;  // Precondition: none is unknown.
    CopyWay another();         // The others in turn.
    CopyWay best = CopyWay::kFetch;
    std::size_t sent_bytes = 0;  // Up to kFreshBytes.
    std::uint32_t retries = 0;
    std::uint32_t since_retry = 0;
    std::uint32_t retry_every = kRetryFirst;
  };

  std::mutex mutex_;
  std::array<Course, kSizes * kOperations> courses_;
};

}  // namespace thalweg
