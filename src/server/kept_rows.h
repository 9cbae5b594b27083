// Rows by key, each kept once and all forgotten at once: open addressing, rows in pages that never move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace thalweg {

class KeptRows {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Its number, and whether it is new. Precondition: it is not the largest key of all.
  std::pair<std::uint32_t, bool> add(std::uint64_t key);
  // A key that is to be added or found soon.
  void fetch(std::uint64_t key) const;
  // kNone: it is not kept.
  std::uint32_t find(std::uint64_t key) const;
  // Its row, of as many floats as all others. A key to which none is put has none.
  void put(std::uint32_t number, const float* row, std::size_t width);
  // Null where there is none.
  const float* row(std::uint32_t number, std::size_t width) const;
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kPageRows = 32;
  std::size_t home_of(std::uint64_t key) const;
  std::size_t slot_of(std::uint64_t key) const;
  void grow();

  std::vector<std::uint64_t> held_;     // By slot: ~key; 0: free.
  std::vector<std::uint32_t> numbers_;  // By slot, where it is not free.
  std::uint32_t size_ = 0;
  std::vector<std::unique_ptr<float[]>> pages_;
  std::vector<bool> there_;  // By number.
};

}  // namespace thalweg
