// What the commands of versioned values share: the ring, and who asks it.
#pragma once

#include <string>
#include <string_view>

#include "cli/options/options.h"
#include "thalweg/quorum.h"

namespace thalweg {

inline constexpr std::string_view kRingOptions = "ring|secret-file|insecure-no-auth";

// --ring: addresses with commas, or the file that has one on each line. kUsage: it is missing.
Result<QuorumRing> asked_ring(const Options& options);
Result<QuorumClientOptions> asked_ring_client(const Options& options);
// kUsage: no number from 0 to 2^64-2.
Result<Key> asked_key(std::string_view text);

}  // namespace thalweg
