// Key mixing: a fixed bijection of u64 that spreads keys evenly, so that the high bits of a mixed ("placed")
// key choose the range and the slot, and ascending placed order is the order of ranges, of slots and of the
// wire.
#pragma once

#include <cstdint>

#include "thalweg/ids.h"

namespace thalweg {

// A key after mixing. kReservedKey is the only key placed at kNoPlace, so tables use kNoPlace for "empty".
using PlacedKey = std::uint64_t;
inline constexpr PlacedKey kNoPlace = ~PlacedKey{0};

// MurmurHash3's 64-bit finalizer (public domain), shifted so that ~0 maps to itself.
constexpr PlacedKey place(Key key) {
  std::uint64_t x = key + 1;
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
  return x - 1;
}

// The key that place() turned into `placed`.
constexpr Key unplace(PlacedKey placed) {
  std::uint64_t x = placed + 1;
  x ^= x >> 33;
  x *= 0x9cb4b2f8129337dbULL;
  x ^= x >> 33;
  x *= 0x4f74430c22a54005ULL;
  x ^= x >> 33;
  return x - 1;
}

static_assert(place(kReservedKey) == kNoPlace && unplace(place(12345)) == 12345 && unplace(place(0)) == 0);

// floor(x * n / 2^64): the part out of n equal parts of the u64 space that holds x.
constexpr std::uint64_t scale_to(std::uint64_t x, std::uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(x) * n) >> 64);
}

}  // namespace thalweg
