#include "cli/options/memory_limit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "cli/options/sizes.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kLeast = 1000 * 1000;

std::uint64_t memory_of_machine() {
  std::uint64_t bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t of_group = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> of_group) bytes = std::min(bytes, of_group);
  return bytes;
}

}  // namespace

Result<std::uint64_t> parse_memory(const std::string& text) {
  const auto size = parse_size(text, "--memory");
  if (!size || *size >= kLeast) return size;
  return Status(Code::kUsage, fmt::format("--memory {}; expected at least 1M", text));
}

Result<std::uint64_t> memory_limit(const Options& options) {
  const auto text = options.maybe_text("memory");
  return text ? parse_memory(*text) : std::max(kLeast, memory_of_machine() / 4 * 3);
}

}  // namespace thalweg
