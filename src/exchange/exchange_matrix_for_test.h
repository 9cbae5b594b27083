// The matrix that every transport must pass: every route, operation, element type and reduction, many sizes,
// in place and not.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "exchange/exchange_case_for_test.h"

namespace thalweg {

struct MatrixCase {
  ExchangeCase what;
  Plan plan;
  std::size_t piece_bytes = 0;  // 0: whole blocks.
  std::uint64_t number = 0;
};

// Sanitizers find as much with some numbers as with all; and ThreadSanitizer leaves too few addresses for 16
// threads of one process that map each other's memory.
inline const std::vector<std::uint32_t>& matrix_ranks() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  static const std::vector<std::uint32_t> kRanks = {1, 2, 3, 8};
#else
  static const std::vector<std::uint32_t> kRanks = {1, 2, 3, 4, 5, 7, 8, 16};
#endif
  return kRanks;
}

class ExchangeMatrix {
 public:
  // How many cases of each combination of route, operation, type and reduction; which sizes these are, and
  // whether in place, takes turns.
  enum class Density : std::uint8_t { kOneEach, kTwoEach, kAll };

  // Of ranks that share a thread. AddressSanitizer finds as much in some sizes as in all.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr Density kUsual = Density::kTwoEach;
#else
  static constexpr Density kUsual = Density::kAll;
#endif

  // From one `turn` to the next, other sizes: ten of them, and for large vectors 14, make kTwoEach all.
  ExchangeMatrix(std::uint32_t ranks, Density density, std::uint64_t turn = 0)
      : ranks_(ranks), density_(density), turn_(turn) {}

  // Calls `run` with each MatrixCase until it returns other than "", which it returns with the case's name.
  template <class Run>
  std::string each(const Run& run) {
    combinations_ = cases_ = 0;
    turns_ = {};
    for (const std::string& route : routes_for_test()) {
      for (std::size_t o = 0; o < kOperations; ++o) {
        MatrixCase c = case_of(route, static_cast<Operation>(o));
        if (!check_plan(c.plan, c.what.operation, ranks_).ok()) continue;
        if (c.what.operation == Operation::kPointToPoint && ranks_ == 1) continue;
        if (c.what.operation == Operation::kNeighbours) continue;  // Has a graph, and tests of its own.
        if (std::string wrong = each_arithmetic(c, run); !wrong.empty()) return route + ": " + wrong;
      }
    }
    return {};
  }
  // What the last each() ran is all that it should have, so that no case is lost by mistake.
  bool complete() const { return Size{combinations_, cases_} == expected(ranks_, density_); }

  struct Size {
    std::uint64_t combinations = 0;
    std::uint64_t cases = 0;
    bool operator==(const Size&) const = default;
  };
  static Size expected(std::uint32_t ranks, Density density);

 private:
  MatrixCase case_of(const std::string& route, Operation operation) const {
    MatrixCase c;
    c.plan = plan_for_test(route, ranks_);
    if (ranks_ == 1) c.plan.servers = 0;
    c.what.operation = operation;
    c.what.ranks = ranks_;
    c.what.servers = c.plan.servers;
    return c;
  }
  template <class Run>
  std::string each_arithmetic(MatrixCase& c, const Run& run) {
    const bool combines = combines_elements(c.what.operation);
    for (std::size_t t = 0; t < kDataTypes; ++t) {
      for (std::size_t r = 0; r < (combines ? kReductions : 1); ++r) {
        c.what.type = static_cast<DataType>(t);
        c.what.reduction = static_cast<Reduction>(r);
        const bool floats = c.what.type == DataType::kF32 || c.what.type == DataType::kF64;
        if (c.what.reduction == Reduction::kReproducibleSum && !floats) continue;
        if (std::string wrong = each_size(c, run); !wrong.empty()) return wrong;
      }
    }
    if (!combines) return {};
    c.what.type = DataType::kI64;
    c.what.reduction = Reduction::kSum;
    c.what.own_monoid = true;
    return each_size(c, run);
  }
  template <class Run>
  std::string each_size(const MatrixCase& combination, const Run& run) {
    const ExchangeCase& what = combination.what;
    std::vector<std::uint64_t> counts = {0, 1, ranks_ - 1, ranks_ + 1, 257};
    if (what.type == DataType::kF32 && what.reduction == Reduction::kSum) {
      counts.insert(counts.end(), {1003, 70001});
    }
    const std::size_t variants = 2 * counts.size();
    const std::size_t chosen = density_ == Density::kAll ? variants : density_ == Density::kTwoEach ? 2 : 1;
    const std::size_t first = density_ == Density::kAll
                                  ? 0
                                  : (turn_ + turns_[static_cast<std::size_t>(what.operation)]++) % variants;
    ++combinations_;
    for (std::size_t i = 0; i < chosen; ++i) {
      const std::size_t variant = (first + i * (variants / chosen)) % variants;
      const MatrixCase c = filled_in(combination, counts[variant / 2], variant % 2 == 1);
      if (std::string wrong = run(c); !wrong.empty()) return c.what.name() + ": " + wrong;
    }
    return {};
  }
  MatrixCase filled_in(MatrixCase c, std::uint64_t count, bool in_place) {
    ExchangeCase& what = c.what;
    if (what.operation == Operation::kAllToAll) count = (count + ranks_ - 1) / ranks_ * ranks_;
    what.count = count;
    what.in_place = in_place;
    c.number = cases_++;
    const std::uint64_t chance = splitmix(~c.number);
    what.root = static_cast<std::uint32_t>(chance / 2 % what.workers());
    if (chance % 2 == 0) c.piece_bytes = count > 10000 ? 30000 : 256;
    const bool side_by_side = what.operation == Operation::kAllReduce && count > 1000;
    c.plan.channels = side_by_side && c.plan.route != &routes::kShared ? 2 : 1;
    return c;
  }

  const std::uint32_t ranks_;
  const Density density_;
  const std::uint64_t turn_;
  std::uint64_t combinations_ = 0;
  std::uint64_t cases_ = 0;
  std::array<std::uint64_t, kOperations> turns_{};  // Combinations of each operation.
};

inline ExchangeMatrix::Size ExchangeMatrix::expected(std::uint32_t ranks, Density density) {
  struct Known {
    std::uint32_t ranks;
    Size whole;
  };
  static constexpr Known kKnown[] = {{1, {3101, 31522}}, {2, {2880, 29340}}, {3, {2946, 30012}},
                                     {4, {3012, 30684}}, {5, {3012, 30684}}, {7, {3012, 30684}},
                                     {8, {2953, 30086}}, {16, {2960, 30160}}};
  const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [ranks](const Known& one) { return one.ranks == ranks; });
  if (known == std::end(kKnown)) return {};
  const std::uint64_t combinations = known->whole.combinations;
  if (density == Density::kAll) return known->whole;
  return {combinations, combinations * (density == Density::kTwoEach ? 2 : 1)};
}

}  // namespace thalweg
