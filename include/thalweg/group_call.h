// An operation of a group as its caller puts it: what is done with which elements, and which way.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "thalweg/operation.h"
#include "thalweg/reduction.h"
#include "thalweg/status.h"

namespace thalweg {

struct RoutePlans;

// Which way an operation's bytes go. All ranks must choose the same.
class RouteChoice {
 public:
  struct Tuning {
    std::size_t piece_bytes = 0;  // Blocks travel in pieces of this size; 0: whole.
    std::uint32_t channels = 1;   // Equal parts of the vector that travel side by side.
  };
  RouteChoice() = default;  // The group chooses by operation and size.
  // "ring", "tree:4", "hierarchical:4x2", ... What "rings" and "hierarchical" leave open, the group fills in.
  // Errors: kUsage, with the names there are.
  static Result<RouteChoice> named(std::string_view name, Tuning tuning = {0, 1});
  // The last ranks, so many, work for the others in an all-reduce: they contribute nothing, get no result,
  // and pass a GroupCall whose `in` and `out` are null, else kUsage.
  std::uint32_t servers() const;

 private:
  friend struct RoutePlans;
  std::shared_ptr<const RoutePlans> plans_;  // Null: the group chooses.
};

// How elements combine: a built-in reduction, or one of your own.
class Combine {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  Combine(Reduction reduction = Reduction::kSum) : reduction_(reduction) {}
  Combine(const Monoid& monoid) : monoid_(monoid), by_monoid_(true) {}
  // NOLINTEND(google-explicit-constructor)
  Reduction reduction() const { return reduction_; }
  const Monoid& monoid() const { return monoid_; }  // Without `combine` where the reduction counts.
  bool by_monoid() const { return by_monoid_; }     // It was made of one, which must have a `combine`.

 private:
  Reduction reduction_ = Reduction::kSum;
  Monoid monoid_{};
  bool by_monoid_ = false;
};

// One operation on elements of any type, as run() and start() take it; Group's typed members make these.
struct GroupCall {
  Operation operation = Operation::kAllReduce;
  // What this rank contributes, and where its result goes; see Operation. Null where the operation has none
  // for this rank; an `out` that is given is written to, on its way, also where the root alone gets a result.
  // In place, as NCCL has it: in == out + own_part().begin for an all-gather or gather, out == in +
  // own_part().begin for a reduce-scatter or scatter, in == out for all others. Buffers that overlap in
  // another way are refused with kUsage.
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;           // Elements of the whole vector; all-to-all: of what this rank contributes.
  DataType type = DataType::kF32;  // A monoid's elements have its own size instead.
  Combine combine{};
  std::uint32_t root = 0;  // Point to point: who sends.
  std::uint32_t peer = 0;  // Point to point: who receives.
  // Elements of each rank's part, one number a rank; empty: Group::part(). All-to-all: of the part for each
  // rank, and in `counts_out` of the part from each.
  std::span<const std::size_t> counts{};
  std::span<const std::size_t> counts_out{};
  std::span<const std::uint32_t> neighbours{};  // Of this rank; each of them names it as well.
  RouteChoice route{};
  std::chrono::nanoseconds timeout{0};  // 0: GroupOptions::timeout.
};

}  // namespace thalweg
