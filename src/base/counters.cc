#include "base/counters.h"

#include <algorithm>
#include <bit>

namespace thalweg {
namespace {

constexpr std::uint32_t kExact = 64;
constexpr auto kFirst = static_cast<std::uint32_t>(CounterId::kLeadFirst);

// Numbers in between are not given yet.
bool is_known(CounterId id) {
  return (id >= CounterId::kRows && id <= CounterId::kCopyValueBytes) ||
         (id >= CounterId::kLeadFirst && id <= CounterId::kLeadLast);
}

}  // namespace

CounterId lead_counter(std::uint32_t lead) {
  const auto power = static_cast<std::uint32_t>(std::bit_width(lead / kExact));  // 1 from 64, 2 from 128
  return CounterId{static_cast<std::uint16_t>(kFirst + (power == 0 ? lead : kExact + power - 1))};
}

std::pair<std::uint32_t, std::uint32_t> leads_of(CounterId counter) {
  const std::uint32_t index = static_cast<std::uint32_t>(counter) - kFirst;
  if (index < kExact) return {index, index};
  const std::uint32_t from = kExact << (index - kExact);
  return {from, from + (from - 1)};
}

void Counters::count(CounterId id, std::uint64_t more) {
  std::uint64_t& value = values_[id];
  value = id == CounterId::kStalenessMax ? std::max(value, more) : value + more;
}

void Counters::count(const Counters& other) {
  for (const auto& [id, value] : other.values_) {
    if (is_known(id)) count(id, value);
  }
}

}  // namespace thalweg
