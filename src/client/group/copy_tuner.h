// Which way two ranks of one machine copy vectors in ordinary memory: fetched out of each other's memory, or
// staged in memory that both see. Which is faster depends on whether their cores share a cache, and changes
// when the system moves them, so it is measured operation by operation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/instant.h"
#include "thalweg/group.h"

namespace thalweg {

// May be used by several threads. One of the two ranks decides; the other follows.
class CopyTuner {
 public:
  enum class Way : std::uint8_t { kFetch, kStage };
  static constexpr std::uint8_t kUntuned = 0xff;
  struct Trial {
    Way way = Way::kFetch;
    std::uint8_t course = kUntuned;
    Instant begun{};
    bool is_timed() const { return course != kUntuned; }
  };
  static constexpr std::size_t kTunedBytesMin = std::size_t{16} << 10;  // Below it both take as long.

  // For an operation on so many bytes that begins now.
  Trial begin(Operation operation, std::size_t bytes, Instant now);
  // It has ended well, having copied. Precondition: is_timed().
  void end(const Trial& trial, Instant now);

 private:
  static constexpr std::size_t kWays = 2;
  static constexpr std::size_t kKept = 4;  // Least of so many, since others' turns make some take longer.
  static constexpr std::uint32_t kRetryFirst = 16, kRetryLast = 128;  // Operations between two tries.
  static constexpr std::size_t kSizes = 16, kOperations = 3;          // Sizes by powers of two.

  struct Tried {
    std::array<Duration, kKept> took{};
    std::size_t count = 0;
    Duration least() const;
  };
  // Of one operation at one size.
  struct Course {
    std::array<Tried, kWays> ways;
    Tried& of(Way way) { return ways[static_cast<std::size_t>(way)]; }
    Way best = Way::kFetch;
    std::uint32_t since_retry = 0;
    std::uint32_t retry_every = kRetryFirst;
  };

  std::mutex mutex_;
  std::array<Course, kSizes * kOperations> courses_;
};

}  // namespace thalweg
