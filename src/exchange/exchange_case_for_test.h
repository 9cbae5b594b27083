// One case of the matrix that every transport must pass: an operation, its elements and its route, with
// inputs whose exact result is known. Values are small enough that no type rounds them, in whatever order
// they are added.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory_resource>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "exchange/block.h"
#include "exchange/exchange.h"
#include "exchange/route/route.h"

namespace thalweg {

// A level for each prime factor.
inline PlanLevels prime_levels(std::uint32_t ranks) {
  PlanLevels levels;
  for (std::uint32_t left = ranks; left > 1;) {
    std::uint32_t factor = 2;
    while (left % factor != 0) ++factor;
    levels.emplace_back(factor);
    left /= factor;
  }
  if (ranks == 1) levels = {1};
  return levels;
}

// Levels whose groups have one member more each than the one before: 2+3+4+7 of 16, then 1+3, then 2.
inline PlanLevels unequal_levels(std::uint32_t ranks) {
  PlanLevels levels;
  std::uint32_t least = ranks > 4 ? 2 : 1;
  for (std::uint32_t groups = ranks; groups > 1 || levels.empty(); least = 1) {
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t left = groups, next = least; left > 0; ++next) {
      sizes.push_back(left <= 2 * next ? left : next);
      left -= sizes.back();
    }
    groups = static_cast<std::uint32_t>(sizes.size());
    levels.push_back(PlanLevel::of(std::move(sizes)));
  }
  return levels;
}

// Hierarchies that are told apart by their levels' sizes and ways.
struct HierarchyForTest {
  PlanLevels (*levels)(std::uint32_t ranks) = prime_levels;
  std::vector<LevelWay>
      ways{};  // From the outermost inwards, the last one of all that are left; empty: rings.
};
inline const std::map<std::string, HierarchyForTest>& hierarchies_for_test() {
  using enum LevelWay;
  static const std::map<std::string, HierarchyForTest> kHierarchies = {
      {"hierarchical", {}},
      {"hierarchical by trees", {prime_levels, {kTree}}},
      {"hierarchical by halving, rings, trees", {prime_levels, {kHalving, kRing, kTree}}},
      {"hierarchical by doubling, trees, halving", {prime_levels, {kDoubling, kTree, kHalving}}},
      {"hierarchical of unequal groups", {unequal_levels, {kRing}}},
      {"hierarchical of unequal groups by halving, rings", {unequal_levels, {kHalving, kRing}}},
      {"hierarchical of unequal groups by rings, halving, trees", {unequal_levels, {kRing, kHalving, kTree}}},
      {"hierarchical of unequal groups by doubling, trees", {unequal_levels, {kDoubling, kTree}}}};
  return kHierarchies;
}
inline PlanLevels levels_for_test(const std::string& name, std::uint32_t ranks) {
  const HierarchyForTest& which = hierarchies_for_test().at(name);
  PlanLevels levels = which.levels(ranks);
  for (std::size_t i = 0; i < levels.size() && !which.ways.empty(); ++i)
    levels[levels.size() - 1 - i].way = which.ways[std::min(i, which.ways.size() - 1)];
  return levels;
}

inline Plan plan_for_test(const std::string& name, std::uint32_t ranks) {
  Plan plan = *parse_route(name.substr(0, name.find(' ')));
  if (plan.route->shape == RouteShape::kByLevels) plan.levels = levels_for_test(name, ranks);
  if (plan.route->shape == RouteShape::kByRings) {
    plan.rings.resize(2);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) plan.rings[0].order.push_back(rank);
    plan.rings[0].weight = 2;
    plan.rings[1].order.assign(plan.rings[0].order.rbegin(), plan.rings[0].order.rend());
  }
  for (std::uint32_t t = 0; plan.route->shape == RouteShape::kByTrees && t < 3; ++t) {
    Tree tree{t % ranks, std::vector<std::int32_t>(ranks, static_cast<std::int32_t>(t % ranks)), 1.0 + t};
    tree.parent[tree.root] = -1;
    plan.trees.push_back(tree);
  }
  return plan;
}

inline bool combines_elements(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduce ||
         operation == Operation::kReduceScatter;
}

// A reduction of a caller's own.
inline Monoid monoid_for_test() {
  const auto add = [](void* into, const void* from, std::size_t count, void*) {
    auto* sums = static_cast<std::byte*>(into);
    const auto* more = static_cast<const std::byte*>(from);
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t a, b;
      std::memcpy(&a, sums + i * sizeof a, sizeof a);
      std::memcpy(&b, more + i * sizeof b, sizeof b);
      a += b;
      std::memcpy(sums + i * sizeof a, &a, sizeof a);
    }
  };
  return {"sum by hand", sizeof(std::int64_t), add, nullptr};
}

struct ExchangeCase {
  Operation operation{};
  DataType type = DataType::kF32;
  Reduction reduction = Reduction::kSum;
  bool own_monoid = false;  // Adds 64-bit integers by itself.
  std::uint32_t ranks = 1;
  std::uint32_t servers = 0;
  std::uint64_t count = 0;
  std::uint32_t root = 0;
  bool in_place = false;

  std::string name() const {
    return std::string(operation_name(operation)) + " of " + std::to_string(count) + " " +
           data_type_name(type) + " (" + (own_monoid ? "monoid" : reduction_name(reduction)) + "), root " +
           std::to_string(root) + (in_place ? ", in place" : "");
  }
  Arithmetic arithmetic() const {
    return own_monoid ? Arithmetic::of(monoid_for_test()) : Arithmetic::of(type, reduction);
  }
  std::uint32_t workers() const { return ranks - servers; }
  std::uint32_t peer() const { return (root + 1) % ranks; }
  Block part(std::uint32_t rank) const { return part_of({0, count}, ranks, rank); }
  // What `rank` contributes to an element.
  std::int64_t value(std::uint32_t rank, std::uint64_t element) const {
    const std::uint64_t chance = splitmix(element * 31 + rank * 1000003ULL);
    switch (combines_elements(operation) ? reduction : Reduction::kSum) {
      case Reduction::kProduct:
        return rank == element % workers() ? 3 : chance % 2 == 0 ? 1 : -1;
      case Reduction::kAnd:
      case Reduction::kOr:
        return splitmix(element) % 2 == 0 ? 0 : static_cast<std::int64_t>(chance % 4);
      case Reduction::kMean: {  // Pairs of ranks cancel out, so that the mean is whole.
        const auto base = static_cast<std::int64_t>(splitmix(element) % 5);
        if (rank == workers() - 1 && workers() % 2 == 1) return base + 5;
        const auto off = static_cast<std::int64_t>(splitmix(element * 31 + rank / 2) % 5);
        return base + 5 + (rank % 2 == 0 ? off : -off);
      }
      default:
        return static_cast<std::int64_t>(chance % 15) - (type == DataType::kU64 ? 0 : 7);
    }
  }
  std::int64_t combined(std::uint64_t element) const {
    std::int64_t all = value(0, element);
    const auto truth = [](std::int64_t v) { return v != 0 ? 1 : 0; };
    if (reduction == Reduction::kAnd || reduction == Reduction::kOr) all = truth(all);
    for (std::uint32_t rank = 1; rank < workers(); ++rank) {
      const std::int64_t next = value(rank, element);
      switch (reduction) {
        case Reduction::kSum:
        case Reduction::kReproducibleSum:
        case Reduction::kMean:
          all += next;
          break;
        case Reduction::kMin:
          all = std::min(all, next);
          break;
        case Reduction::kMax:
          all = std::max(all, next);
          break;
        case Reduction::kProduct:
          all *= next;
          break;
        case Reduction::kAnd:
          all = all != 0 && next != 0 ? 1 : 0;
          break;
        case Reduction::kOr:
          all = all != 0 || next != 0 ? 1 : 0;
          break;
      }
    }
    return reduction == Reduction::kMean ? all / workers() : all;
  }
};

// combined() of the first elements, `count` or more: they are the same in all cases of one reduction.
inline const std::vector<std::int64_t>& combined_elements(const ExchangeCase& c) {
  thread_local std::map<std::tuple<std::uint32_t, Reduction, bool>, std::vector<std::int64_t>> known;
  std::vector<std::int64_t>& sums = known[{c.workers(), c.reduction, c.type == DataType::kU64}];
  while (sums.size() < c.count) sums.push_back(c.combined(sums.size()));
  return sums;
}

// Writes a small whole number as an element.
inline void put_element(DataType type, std::byte* at, std::int64_t value) {
  const auto put = [at](auto typed) { std::memcpy(at, &typed, sizeof typed); };
  const auto f32_bits = [](std::int64_t v) {
    const auto f = static_cast<float>(v);
    std::uint32_t bits;
    std::memcpy(&bits, &f, sizeof bits);
    return bits;
  };
  switch (type) {
    case DataType::kF32:
      return put(static_cast<float>(value));
    case DataType::kF64:
      return put(static_cast<double>(value));
    case DataType::kI32:
      return put(static_cast<std::int32_t>(value));
    case DataType::kI64:
      return put(value);
    case DataType::kU64:
      return put(static_cast<std::uint64_t>(value));
    case DataType::kBf16:
      return put(static_cast<std::uint16_t>(f32_bits(value) >> 16));
    case DataType::kF16: {
      const std::uint32_t bits = f32_bits(value);
      const std::uint32_t sign = bits >> 31 << 15, exponent = (bits >> 23 & 255) - 127 + 15;
      return put(static_cast<std::uint16_t>(value == 0 ? 0 : sign | exponent << 10 | (bits >> 13 & 1023)));
    }
  }
}

// One rank's buffers in a case, with margins that nothing may touch.
class CaseBuffers {
 public:
  // `memory`: where they are.
  CaseBuffers(const ExchangeCase& c, std::uint32_t rank,
              std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : case_(c), rank_(rank), in_storage_(memory), out_storage_(memory) {
    const std::uint64_t count = c.count;
    const Block own = c.part(rank), all{0, count};
    const auto mine = [this](std::uint64_t e) { return case_.value(rank_, e); };
    static const std::vector<std::int64_t> kNone;
    const std::vector<std::int64_t>& sums = combines_elements(c.operation) ? combined_elements(c) : kNone;
    const auto sum = [&sums](std::uint64_t e) { return sums[e]; };
    const auto roots = [this](std::uint64_t e) { return case_.value(case_.root, e); };
    const auto owners = [this, owner = 0u](std::uint64_t e) mutable {
      while (e >= case_.part(owner).end()) ++owner;
      return case_.value(owner, e);
    };
    const bool at_root = rank == c.root;
    switch (c.operation) {
      case Operation::kAllReduce:
        if (rank < c.workers()) expect(all, sum);
        if (rank < c.workers()) give(all, mine);
        break;
      case Operation::kReduce:
        if (at_root) expect(all, sum);
        give(all, mine);
        break;
      case Operation::kReduceScatter:
        expect(own, sum);
        give(all, mine);
        break;
      case Operation::kAllGather:
        expect(all, owners);
        give(own, mine);
        break;
      case Operation::kBroadcast:
        expect(all, roots);
        if (at_root || c.in_place) give(all, mine);
        break;
      case Operation::kGather:
        if (at_root) expect(all, owners);
        give(own, mine);
        break;
      case Operation::kScatter:
        expect(own, roots);
        if (at_root) give(all, mine);
        break;
      case Operation::kAllToAll: {
        const Block each = part_of({0, count}, c.ranks, 0);
        give(all, mine);
        expect(all, [this, own, each](std::uint64_t e) {
          return case_.value(static_cast<std::uint32_t>(e / each.count), own.begin + e % each.count);
        });
        break;
      }
      case Operation::kBarrier:
      case Operation::kNeighbours:
        break;
      case Operation::kPointToPoint:
        if (at_root) give(all, mine);
        if (rank == c.peer()) expect(all, roots);
        break;
    }
    lay_out(own.begin);
  }

  const std::byte* in() const { return has_in_ ? in_storage() + kMargin : nullptr; }
  std::byte* out() { return has_out_ ? out_storage_.data() + kMargin + out_offset_ : nullptr; }

  // Empty, or what is wrong.
  std::string check() const {
    if (has_out_ && !expected_.empty() &&
        std::memcmp(out_storage_.data() + kMargin + out_offset_, expected_.data(), expected_.size()) != 0) {
      std::size_t at = 0;
      while (out_storage_[kMargin + out_offset_ + at] == expected_[at]) ++at;
      return "rank " + std::to_string(rank_) + ": element " + std::to_string(at / bytes(1)) + " is wrong";
    }
    const bool clean = margins_are_clean(out_storage_) && margins_are_clean(in_storage_);
    if (!clean) return "rank " + std::to_string(rank_) + ": memory beside a buffer was written";
    if (!in_storage_.empty() && in_storage_ != in_before_) {
      return "rank " + std::to_string(rank_) + ": its input was written";
    }
    return {};
  }

 private:
  static constexpr std::size_t kMargin = 64;
  static constexpr std::byte kMark{0xa5};

  std::size_t bytes(std::uint64_t elements) const { return elements * size_bytes(case_.type); }
  const std::byte* in_storage() const {
    return (case_.in_place && has_out_ ? out_storage_.data() : in_storage_.data()) + in_offset_;
  }
  template <class Value>
  std::vector<std::byte> elements(Block block, Value value) const {
    std::vector<std::byte> made(bytes(block.count));
    for (std::uint64_t i = 0; i < block.count; ++i) {
      put_element(case_.type, made.data() + bytes(i), value(block.begin + i));
    }
    return made;
  }
  template <class Value>
  void give(Block block, Value value) {
    has_in_ = true;
    given_ = elements(block, value);
  }
  template <class Value>
  void expect(Block block, Value value) {
    has_out_ = true;
    expected_ = elements(block, value);
  }
  void lay_out(std::uint64_t own_begin) {
    if (case_.in_place && has_out_ && has_in_) {
      out_storage_.assign(std::max(given_.size(), expected_.size()) + 2 * kMargin, kMark);
      in_offset_ = given_.size() < expected_.size() ? bytes(own_begin) : 0;
      out_offset_ = expected_.size() < given_.size() ? bytes(own_begin) : 0;
      if (!given_.empty())
        std::memcpy(out_storage_.data() + kMargin + in_offset_, given_.data(), given_.size());
      return;
    }
    if (has_out_) out_storage_.assign(expected_.size() + 2 * kMargin, kMark);
    if (!has_in_) return;
    case_.in_place = false;
    in_storage_.assign(given_.size() + 2 * kMargin, kMark);
    if (!given_.empty()) std::memcpy(in_storage_.data() + kMargin, given_.data(), given_.size());
    in_before_ = in_storage_;
  }
  static bool margins_are_clean(const std::pmr::vector<std::byte>& storage) {
    for (std::size_t i = 0; i < kMargin && !storage.empty(); ++i) {
      if (storage[i] != kMark || storage[storage.size() - 1 - i] != kMark) return false;
    }
    return true;
  }

  ExchangeCase case_;
  std::uint32_t rank_;
  bool has_in_ = false, has_out_ = false;
  std::vector<std::byte> given_, expected_;
  std::pmr::vector<std::byte> in_storage_, out_storage_, in_before_;
  std::size_t in_offset_ = 0, out_offset_ = 0;
};

// Every route by name; those that a group is too small for are left to check_plan().
inline const std::vector<std::string>& routes_for_test() {
  static const std::vector<std::string> kNames = {"star",
                                                  "servers:1",
                                                  "servers:3",
                                                  "spread",
                                                  "chain",
                                                  "ring",
                                                  "bidirectional-ring",
                                                  "rings",
                                                  "binomial-tree",
                                                  "tree:2",
                                                  "tree:3",
                                                  "double-tree",
                                                  "recursive-doubling",
                                                  "halving-doubling",
                                                  "hierarchical",
                                                  "hierarchical by trees",
                                                  "hierarchical by halving, rings, trees",
                                                  "hierarchical by doubling, trees, halving",
                                                  "hierarchical of unequal groups by halving, rings",
                                                  "hierarchical of unequal groups by rings, halving, trees",
                                                  "packed-trees",
                                                  "byteps:0",
                                                  "byteps:2",
                                                  "byteps:9",
                                                  "shared"};
  return kNames;
}

}  // namespace thalweg
