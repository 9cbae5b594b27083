// Whole numbers to exchange whose result is known, and whether it came out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exchange/block.h"
#include "exchange/call.h"
#include "exchange/plan/layout.h"

namespace thalweg {

// One operation's buffers on every rank of a simulation.
class CheckedPayload {
 public:
  // `count`: elements of the whole vector. `only`: the rank that there are buffers for; unset: all.
  CheckedPayload(const Demand& demand, const Layout& layout, std::uint64_t count,
                 std::optional<std::uint32_t> only = std::nullopt);
  // The call of one rank, with buffers that this object owns.
  Call call(std::uint32_t rank);
  // Whether every rank has exactly what the operation promises it.
  bool right() const;
  // Whether that one has.
  bool right(std::uint32_t rank) const;

 private:
  using Vector = std::vector<std::int32_t>;
  Block part(std::uint32_t rank) const;
  bool contributes(std::uint32_t rank) const { return rank < demand_.ranks; }
  Block input_of(std::uint32_t rank) const;  // Elements of the whole vector.
  Block output_of(std::uint32_t rank) const;
  // Of all contributions, where the operation promises them.
  Vector sums() const;
  bool right(std::uint32_t rank, const Vector& sums) const;

  Demand demand_;
  std::uint32_t group_;  // Ranks, servers included.
  std::uint64_t count_;
  std::vector<Vector> in_;
  std::vector<Vector> out_;
};

}  // namespace thalweg
