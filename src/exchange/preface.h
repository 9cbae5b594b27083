// What both ends of a link tell each other before an operation's first bytes, so that two ranks which call
// different operations learn it instead of adding up each other's noise.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "exchange/call.h"
#include "exchange/combine/combine.h"
#include "exchange/plan/plan.h"
#include "thalweg/status.h"

namespace thalweg {

struct Preface {
  static constexpr std::uint32_t kMagic = 0x57454c58;  // "XLEW"
  static constexpr std::uint8_t kMonoid = 255, kOrderedMonoid = 254;
  std::uint32_t magic = kMagic;
  std::uint8_t version = 4;
  Operation operation{};
  std::uint8_t type = 0;       // DataType.
  std::uint8_t reduction = 0;  // Reduction, kMonoid or kOrderedMonoid.
  std::uint32_t element_bytes = 0;
  std::uint32_t root = 0;
  std::uint64_t count = 0;  // All-to-all: of what goes from one rank to the other, 0 where both are meant.
  std::uint64_t sequence = 0;
  std::uint32_t ranks = 0;
  std::uint32_t route = 0;      // Route::id.
  std::uint64_t plan_hash = 0;  // Of everything else in the plan, and of counts that its caller gives.
  std::uint64_t group = 0;      // Which of the groups that share the ranks' links.
  std::uint32_t piece = 0;      // Elements, or the greatest number; 0: whole blocks.
  std::uint16_t channels = 1;
  std::uint16_t number = 0;  // Behind the route's name, where it has one.
  bool operator==(const Preface&) const = default;
};
static_assert(sizeof(Preface) == 64 && std::is_trivially_copyable_v<Preface>);

std::uint64_t hash_of(const Plan& plan);  // Never 0.
// "all-reduce #12 of 1048576 f32 by ring". `own`: the route, where it is known, which may be the
// application's.
std::string describe(const Preface& preface, const Route* own = nullptr);
// Which of the operations it is.
struct Numbering {
  std::uint32_t ranks = 1;
  std::uint64_t sequence = 0;
  std::uint64_t group = 0;
};
// `asked`: the operation that the caller knows; that of `call` may be another that does its work.
Preface preface_of(Operation asked, const Call& call, const Plan& plan, const Numbering& numbering);
// Whose preface it is.
struct PrefaceOf {
  std::uint32_t rank = 0;
  Preface preface;
};
// OK, or which ranks call what. Symmetric, so that both say the same, but where the other sends `one` a part
// of an all-to-all that is not as large as it expects.
Status check_prefaces(const PrefaceOf& one, const PrefaceOf& other);

}  // namespace thalweg
