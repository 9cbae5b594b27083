// Numbers for the distinct keys of several ascending lists: open addressing, ordered by placed key as the
// lists are, so that each list goes through memory once and forwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/mix.h"
#include "base/range_set.h"

namespace thalweg {

class KeyNumbers {
 public:
  // Forgets all keys. Those to come are of `owned` out of `ranges` ranges.
  void reset(const RangeSet& owned, std::uint16_t ranges);
  // numbers[i] becomes the number of keys[i]: a key's the first time is the next that is free, from 0 on.
  void add(std::span<const PlacedKey> keys, std::uint32_t* numbers);
  // By number.
  std::span<const PlacedKey> keys() const { return {keys_.data(), size_}; }
  // All keys ascending, with their numbers.
  void sort(std::vector<PlacedKey>& keys, std::vector<std::uint32_t>& numbers) const;
  std::size_t bytes() const;

 private:
  std::size_t home(PlacedKey key) const;
  void make_room(std::size_t keys);
  std::size_t find(PlacedKey key) const;
  void add_some(std::span<const PlacedKey> keys, std::uint32_t* numbers);
  template <class Home>
  void add_some(std::span<const PlacedKey> keys, std::uint32_t* numbers, const Home& home);

  std::uint16_t ranges_ = 1;
  std::vector<std::uint32_t> place_of_range_;  // Among those that are owned.
  std::optional<std::size_t> run_;             // Where these are neighbours: the first of them.
  std::size_t owned_ = 0;
  std::size_t slots_a_range_ = 0;
  std::vector<std::uint64_t> held_;     // By slot: ~key; 0: free.
  std::vector<std::uint32_t> numbers_;  // By slot, where it is not free.
  std::vector<PlacedKey> keys_;
  std::size_t size_ = 0;
};

}  // namespace thalweg
