// What both ends of a link tell each other before an operation's first bytes, so that two ranks which call
// different operations learn it instead of adding up each other's noise.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "exchange/plan.h"
#include "thalweg/status.h"

namespace thalweg {

struct Preface {
  static constexpr std::uint32_t kMagic = 0x57454c58;  // "XLEW"
  std::uint32_t magic = kMagic;
  std::uint8_t version = 1;
  Operation operation{};
  std::uint8_t type = 0;       // DataType.
  std::uint8_t reduction = 0;  // Reduction; 255 is a monoid.
  std::uint32_t element_bytes = 0;
  std::uint32_t root = 0;
  std::uint64_t count = 0;
  std::uint64_t sequence = 0;
  std::uint32_t ranks = 0;
  Route route{};
  std::uint8_t zero[3] = {};
  std::uint64_t plan_hash = 0;  // Of everything else in the plan.
  std::uint64_t padding[2] = {};
  bool operator==(const Preface&) const = default;
};
static_assert(sizeof(Preface) == 64 && std::is_trivially_copyable_v<Preface>);

std::uint64_t hash_of(const Plan& plan);       // Never 0.
std::string describe(const Preface& preface);  // "all-reduce #12 of 1048576 f32 by ring"
// OK, or which rank runs what instead of this.
Status check_preface(const Preface& mine, const Preface& theirs, std::uint32_t peer);

}  // namespace thalweg
