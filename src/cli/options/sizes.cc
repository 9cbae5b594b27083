#include "cli/options/sizes.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "cli/options/option_table.h"

namespace thalweg {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kUnits[] = {{"", 1},        {"K", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
                           {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"k", 1e3}};
constexpr double kLargest = 1e15;

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text, std::string_view what) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (!unit.empty() && unit.back() == 'B') unit.remove_suffix(1);
  for (const Unit& known : kUnits) {
    if (error != std::errc() || unit != known.name) continue;
    const double size = number * known.factor;
    if (size >= 0 && size <= kLargest && std::floor(size) == size) return static_cast<std::uint64_t>(size);
  }
  return Status(Code::kUsage,
                fmt::format("{} '{}' is no size; expected a whole number up to 1000T, such as 4096, "
                            "160M or 64Ki",
                            what, text.substr(0, 60)));
}

Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text, std::string_view what,
                                               std::uint64_t least) {
  std::vector<std::uint64_t> sizes;
  const std::size_t colon = text.find(':');
  if (colon == text.npos) {
    for (const std::string_view part : split(text, ',')) {
      const auto size = parse_size(part, what);
      if (!size) return size.status();
      sizes.push_back(*size);
    }
  } else {
    const auto first = parse_size(text.substr(0, colon), what),
               last = parse_size(text.substr(colon + 1), what);
    if (!first) return first.status();
    if (!last) return last.status();
    for (std::uint64_t size = *first; size <= *last && size > 0; size *= 2) sizes.push_back(size);
    if (!sizes.empty() && sizes.back() != *last) sizes.push_back(*last);
  }
  for (const std::uint64_t size : sizes) {
    if (size < least)
      return Status(Code::kUsage, fmt::format("{} {}; expected at least {}", what, size, least));
  }
  if (!sizes.empty()) return sizes;
  return Status(Code::kUsage,
                fmt::format("{} '{}' names nothing; expected a number, a list A,B,C or a range A:B with "
                            "A <= B",
                            what, text.substr(0, 60)));
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array kNames = {"B", "kB", "MB", "GB", "TB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1000 && unit + 1 < kNames.size()) size /= 1000, ++unit;
  return fmt::format("{:.4g} {}", size, kNames[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} us", seconds * 1e6);
}

}  // namespace thalweg
