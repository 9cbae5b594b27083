// Sizes of pieces and numbers of channels by trial.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "exchange/plan/planner.h"

namespace thalweg {

// A route is cut into pieces of these and those in between by fours, and into channels by twos.
inline constexpr std::uint64_t kPieceBytesLeast = 4 << 10, kPieceBytesMost = 16 << 20;
inline constexpr std::uint32_t kChannelsMost = 32;

// Looks for the size of pieces and the number of channels in which a route takes the least time by
// simulation: from `start` each way for as long as that helps, and some steps beyond. All but `start` outlive
// it.
class Tuner {
 public:
  Tuner(const Topology& topology, const Demand& demand, Forecast start, const PlannerOptions& options,
        std::pmr::memory_resource* memory);
  // Goes on, with simulations of so much work at most, by simulation_work(), and takes off what it has done.
  Status go_on(double& work);
  // The least work that a trial takes; 0 where there is none to make.
  double next_work() const;
  const Forecast& best() const { return best_; }
  // What more channels will come to, by how much the last twice as many were faster: best() where they were
  // not. Levels follow each other in channels, and those that gain most by that are not the first to begin
  // with.
  double promise() const { return promise_; }

 private:
  // How a route is cut.
  struct Cut {
    std::uint64_t piece_bytes = 0;  // 0: whole.
    std::uint32_t channels = 1;
    bool operator==(const Cut&) const = default;
  };
  enum class Way : std::uint8_t { kSmallerPieces, kLargerPieces, kMoreChannels, kFewerChannels };
  static bool step(Way way, std::uint64_t bytes, Cut& cut);
  Cut cut_of_best() const;
  // Whether the best can be cut so, and how it is then.
  bool cut(const Cut& cut, Layout& layout) const;
  std::array<Way, 4> ways() const;
  Status walk(Way way, double& work);
  Status try_cut(const Cut& cut, double& work);

  const Topology& topology_;
  const Demand& demand_;
  const PlannerOptions& options_;
  std::pmr::memory_resource* memory_;
  Forecast best_;
  double promise_;
  double work_by_count_ = 1;  // What simulations have taken, by what their messages are.
  std::vector<Cut> tried_;
};

}  // namespace thalweg
