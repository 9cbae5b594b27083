#include "topology/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <system_error>

namespace thalweg {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kBandwidths[] = {
    {"B/s", 1},          {"kB/s", 1e3},       {"MB/s", 1e6},        {"GB/s", 1e9},      {"TB/s", 1e12},
    {"KiB/s", 0x1p10},   {"MiB/s", 0x1p20},   {"GiB/s", 0x1p30},    {"bit/s", 1.0 / 8}, {"kbit/s", 1e3 / 8},
    {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}, {"Tbit/s", 1e12 / 8},
};
constexpr Unit kLatencies[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr double kHourNs = 3600e9;

// A number and one of the units, blanks between them allowed.
std::optional<double> parse_amount(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return {};
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const Unit& known : units) {
    if (unit == known.name) return number * known.factor;
  }
  if (unit.empty() && number == 0) return 0;
  return {};
}

std::string shortest(double amount, std::span<const Unit> units) {
  const Unit* fit = &units.front();
  for (const Unit& unit : units) {
    if (amount >= unit.factor && unit.factor >= fit->factor) fit = &unit;
  }
  return fmt::format("{:.4g} {}", amount / fit->factor, fit->name);
}

}  // namespace

Result<double> parse_bandwidth(std::string_view text) {
  const std::optional<double> amount = parse_amount(text, kBandwidths);
  if (!amount || !(*amount > 0) || !std::isfinite(*amount)) {
    return Status(Code::kConfig,
                  fmt::format("'{}' is no bandwidth; expected a number above 0 and a unit, such as "
                              "16GB/s, 100MB/s or 25Gbit/s",
                              text.substr(0, 80)));
  }
  return *amount;
}

Result<std::uint64_t> parse_latency(std::string_view text) {
  const std::optional<double> amount = parse_amount(text, kLatencies);
  if (!amount || !(*amount >= 0) || *amount > kHourNs) {
    return Status(Code::kConfig,
                  fmt::format("'{}' is no latency; expected a number from 0 to an hour and a unit: "
                              "ns, us, ms or s",
                              text.substr(0, 80)));
  }
  return static_cast<std::uint64_t>(std::llround(*amount));
}

std::string bandwidth_text(double bytes_per_second) {
  return shortest(bytes_per_second, std::span(kBandwidths).first(5));
}

std::string latency_text(std::uint64_t ns) {
  return ns == 0 ? "0" : shortest(static_cast<double>(ns), kLatencies);
}

}  // namespace thalweg
