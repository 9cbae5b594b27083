// Bandwidths, latencies and sizes as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/status.h"

namespace thalweg {

// "16GB/s", "100MB/s" (bytes), "25Gbit/s" (bits), "2.5GiB/s": bytes per second, above 0. kConfig otherwise.
Result<double> parse_bandwidth(std::string_view text);
// "2us", "500ns", "10ms", "0": nanoseconds, rounded to the nearest; at most an hour.
Result<std::uint64_t> parse_latency(std::string_view text);

std::string bandwidth_text(double bytes_per_second);  // "16 GB/s"
std::string latency_text(std::uint64_t ns);           // "1.5 us"

}  // namespace thalweg
