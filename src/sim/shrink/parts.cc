#include "sim/shrink/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace thalweg::sim {

std::string to_text(const Reductions& reductions) {
  std::string text;
  for (const auto& [name, left] : reductions)
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", name, left == 0 ? "" : fmt::format("={}", left));
  return text;
}

Result<Reductions> parse_reductions(std::string_view text) {
  Reductions reductions;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const std::string name(part.substr(0, equals));
    std::uint64_t left = 0;
    bool whole = !name.empty();
    if (equals != std::string_view::npos) {
      const char* const end = part.data() + part.size();
      const auto read = std::from_chars(part.data() + equals + 1, end, left);
      whole = whole && read.ec == std::errc() && read.ptr == end;
    }
    if (!whole || !reductions.emplace(name, left).second) {
      return Status(Code::kUsage, fmt::format("'{}': expected parts of what the seed means, each once, as a "
                                              "violation prints them: drop,workers=2",
                                              part));
    }
  }
  return reductions;
}

std::string single_name(std::string_view of, std::size_t index) { return fmt::format("{}.{}", of, index); }

Status check_left(std::string_view what, const Part& part, std::uint64_t left) {
  if (left >= part.least && left <= part.has) return ok_status();
  return {Code::kUsage,
          fmt::format("{}={}: {} has {}, expected {} to that", part.name, left, what, part.has, part.least)};
}

Status unknown_part(std::string_view what, const Reductions& reductions, std::span<const Part> parts) {
  std::string has;
  for (const Part& part : parts) {
    if (part.has > part.least) has += fmt::format("{}{}", has.empty() ? "" : ", ", part.name);
  }
  return {Code::kUsage,
          fmt::format("'{}' names what {} does not have, which is: {}", to_text(reductions), what, has)};
}

}  // namespace thalweg::sim
