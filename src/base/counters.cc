#include "base/counters.h"

#include <algorithm>

namespace thalweg {

void Counters::count(CounterId id, std::uint64_t more) {
  std::uint64_t& value = values_[id];
  value = id == CounterId::kStalenessMax ? std::max(value, more) : value + more;
}

void Counters::count(const Counters& other) {
  for (const auto& [id, value] : other.values_) {
    if (id >= CounterId::kRows && id <= kCounterLast) count(id, value);
  }
}

}  // namespace thalweg
