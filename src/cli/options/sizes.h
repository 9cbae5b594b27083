// Numbers with units of size, and lists of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/status.h"

namespace thalweg {

// "160M", "1.5G", "64Ki", "4096", with a B after it or without: K, M, G and T are powers of 1000, Ki, Mi, Gi
// and Ti of 1024. kUsage otherwise; `what` names the option in the message.
Result<std::uint64_t> parse_size(std::string_view text, std::string_view what);
// "4K,1M" or "1K:1G", which doubles from the first to the last; at least one, none below `least`.
Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text, std::string_view what,
                                               std::uint64_t least);

std::string size_text(std::uint64_t bytes);  // "160 MB"
std::string seconds_text(double seconds);    // "5.19 ms"

}  // namespace thalweg
