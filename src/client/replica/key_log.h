// Keys as they are named, each kept once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace thalweg {

class KeyLog {
 public:
  void add(std::span<const std::uint64_t> keys) {
    keys_.insert(keys_.end(), keys.begin(), keys.end());
    if (keys_.size() >= compact_at_) compact();
  }
  // All of them, ascending; then it is empty.
  std::vector<std::uint64_t> take() {
    compact();
    compact_at_ = kCompactFirst;
    return std::exchange(keys_, {});
  }

 private:
  static constexpr std::size_t kCompactFirst = 1 << 16;
  void compact() {
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
    compact_at_ = std::max(kCompactFirst, 2 * keys_.size());
  }

  std::vector<std::uint64_t> keys_;
  std::size_t compact_at_ = kCompactFirst;
};

}  // namespace thalweg
