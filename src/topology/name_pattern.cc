#include "topology/name_pattern.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <utility>

namespace thalweg {
namespace {

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-/:").find(c) != std::string_view::npos;
}

// "[A-B]" at the front of `text`.
bool take_range(std::string_view& text, std::uint32_t& first, std::uint32_t& last) {
  const std::size_t close = text.find(']');
  if (close == text.npos) return false;
  const char* end = text.data() + close;
  const auto low = std::from_chars(text.data() + 1, end, first);
  if (low.ec != std::errc() || low.ptr == end || *low.ptr != '-') return false;
  const auto high = std::from_chars(low.ptr + 1, end, last);
  if (high.ec != std::errc() || high.ptr != end || last < first) return false;
  text.remove_prefix(close + 1);
  return true;
}

}  // namespace

Result<std::vector<std::string>> expand_names(std::string_view pattern) {
  std::vector<std::string> names{""};
  for (std::string_view rest = pattern; !rest.empty();) {
    if (in_name(rest.front())) {
      for (std::string& name : names) name += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    std::uint32_t first = 0, last = 0;
    if (rest.front() != '[' || !take_range(rest, first, last)) {
      return Status(Code::kConfig,
                    fmt::format("'{}' is no name; expected letters, digits, any of . _ - / : and "
                                "ranges such as [0-3]",
                                pattern.substr(0, 80)));
    }
    const std::size_t count = std::size_t{last} - first + 1;
    if (count > kNamesMax / names.size()) {
      return Status(Code::kConfig, fmt::format("'{}' stands for too many names; expected at most {}",
                                               pattern.substr(0, 80), kNamesMax));
    }
    std::vector<std::string> longer;
    longer.reserve(names.size() * count);
    for (const std::string& name : names) {
      for (std::size_t i = 0; i < count; ++i) longer.push_back(fmt::format("{}{}", name, first + i));
    }
    names = std::move(longer);
  }
  if (names.front().empty()) return Status(Code::kConfig, "a name is empty; expected one letter or more");
  return names;
}

}  // namespace thalweg
