// Every limit of versioned values in one place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thalweg::quorum {

inline constexpr std::size_t kValueBytesMax = std::size_t{1} << 20;
// Versions side by side of one key, and their bytes, above which a put that has not seen them is refused.
inline constexpr std::size_t kSiblingsMax = 64;
inline constexpr std::size_t kRecordBytesMax = std::size_t{4} << 20;
inline constexpr std::uint32_t kReplicasMax = 5;
// Each home of a key may have taken as many at once.
inline constexpr std::uint32_t kVersionsOfRecordMax = kSiblingsMax * kReplicasMax;
inline constexpr std::uint32_t kClockEntriesMax = 1024;
inline constexpr std::uint32_t kRingServersMax = 256;
inline constexpr std::size_t kRequestsOpenMax = 1024;  // Of one coordinator; above it, who asks is to retry.
inline constexpr std::size_t kHintsMax = 1u << 16;     // Of one server.
inline constexpr std::size_t kHintsInFlightMax = 64;   // To one server.
inline constexpr std::size_t kDescendMax = 4;          // Differing children that one answer follows.
inline constexpr std::uint32_t kDigestsMax = 1024;     // Of keys, in one message.
inline constexpr std::uint32_t kRecordsMax = 256;      // In one message,
inline constexpr std::size_t kPageBytes = std::size_t{1} << 20;  // and where it ends before that.

}  // namespace thalweg::quorum
