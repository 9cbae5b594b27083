#include "sim/compute_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace thalweg::sim {
namespace {

constexpr double kSecondsMax = 86400;
constexpr double kSpreadMax = 10;
constexpr double kTimesMax = 1e6;

// The number that `text` begins with, which it loses.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<double> seconds_in(std::string_view text) {
  const auto number = take_number(text);
  if (!number) return std::nullopt;
  for (const auto& [unit, seconds] :
       {std::pair{"us", 1e-6}, std::pair{"ms", 1e-3}, std::pair{"s", 1.0}, std::pair{"m", 60.0}}) {
    if (text == unit && *number * seconds <= kSecondsMax) return *number * seconds;
  }
  return std::nullopt;
}

// A part of `mean` seconds: "5%", "0.3", or where `time` a time.
std::optional<double> spread_in(std::string_view text, double mean, bool time) {
  if (const auto seconds = seconds_in(text); time && seconds && mean > 0) return *seconds / mean;
  auto number = take_number(text);
  if (number && text == "%") return *number / 100;
  return text.empty() ? number : std::nullopt;
}

std::string without_spaces(std::string_view text) {
  std::string out(text);
  std::erase(out, ' ');
  return out;
}

Duration of_seconds(double seconds) {
  return Duration{static_cast<std::int64_t>(std::llround(seconds * 1e9))};
}

}  // namespace

Result<ComputeTime> ComputeTime::parse(std::string_view text) {
  const Status unknown(
      Code::kUsage,
      fmt::format("'{}' is no computing time; expected such as 30ms, normal(1s,5%) or lognormal(30ms,0.3)",
                  text));
  const std::string written = without_spaces(text);
  std::string_view rest = written;
  ComputeTime out;
  const std::size_t open = rest.find('(');
  if (open != rest.npos) {
    const std::string_view name = rest.substr(0, open);
    if (!rest.ends_with(')') || (name != "normal" && name != "lognormal")) return unknown;
    out.kind_ = name == "normal" ? Kind::kNormal : Kind::kLognormal;
    rest = rest.substr(open + 1, rest.size() - open - 2);
  }
  const std::size_t comma = std::min(rest.find(','), rest.size());
  if ((comma == rest.size()) != (out.kind_ == Kind::kConstant)) return unknown;
  const auto mean = seconds_in(rest.substr(0, comma));
  if (!mean) return unknown;
  out.mean_ = of_seconds(*mean);
  if (out.kind_ == Kind::kConstant) return out;
  const auto spread = spread_in(rest.substr(comma + 1), *mean, out.kind_ == Kind::kNormal);
  if (!spread || *spread > kSpreadMax) return unknown;
  out.spread_ = *spread;
  return out;
}

Duration ComputeTime::draw(Random& random) const {
  const double mean = static_cast<double>(mean_.count()) * 1e-9;
  switch (kind_) {
    case Kind::kConstant:
      break;
    case Kind::kNormal:
      return of_seconds(std::max(0.0, mean * (1 + spread_ * random.normal())));
    case Kind::kLognormal:
      return of_seconds(mean * std::exp(spread_ * random.normal() - 0.5 * spread_ * spread_));
  }
  return mean_;
}

Result<Stragglers> Stragglers::parse(std::string_view text) {
  const Status unknown(Code::kUsage, fmt::format("'{}' is no straggler; expected such as 1 of 4, x4", text));
  const std::string written = without_spaces(text);
  std::string_view rest = written;
  const auto count = take_number(rest);
  if (!count || !rest.starts_with("of")) return unknown;
  rest.remove_prefix(2);
  const auto among = take_number(rest);
  if (!among || !rest.starts_with(",x")) return unknown;
  rest.remove_prefix(2);
  const auto times = take_number(rest);
  if (!times || !rest.empty() || *times <= 0 || *times > kTimesMax) return unknown;
  const bool whole = *count == std::floor(*count) && *among == std::floor(*among);
  if (!whole || *among < 1 || *among > kTimesMax || *count > *among) return unknown;
  return Stragglers{static_cast<std::uint32_t>(*count), static_cast<std::uint32_t>(*among), *times};
}

}  // namespace thalweg::sim
