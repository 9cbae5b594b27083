// A job's state as its scheduler tells it to whoever asks, see include/thalweg/job_status.h.
#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"
#include "thalweg/job_status.h"

namespace thalweg::wire {

inline constexpr std::uint32_t kEventsMax = 256;
inline constexpr std::uint32_t kStragglersMax = 16;
inline constexpr std::size_t kCauseBytesMax = 512;

Bytes encode(const JobStatus& status);
// Empty when the bytes are not exactly one such message within its limits.
std::optional<JobStatus> decode_job_status(const Bytes& bytes);

}  // namespace thalweg::wire
