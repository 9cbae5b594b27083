// Which route was the fastest of all where they were timed: on one machine, by transport, number of ranks,
// operation and size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "exchange/plan/plan.h"
#include "thalweg/operation.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::size_t kMeasuredRoutesMax = 1024;

// Operations of groups that have more than one route to choose from.
inline constexpr std::array kChosenOperations = {Operation::kAllReduce, Operation::kReduceScatter,
                                                 Operation::kAllGather, Operation::kBroadcast,
                                                 Operation::kReduce};

// What was measured: operations on vectors of so many bytes among ranks of one machine.
struct MeasuredPoint {
  bool shares_memory = true;  // All ranks do; else none, and they go by TCP over loopback.
  std::uint32_t ranks = 2;
  Operation operation = Operation::kAllReduce;
  std::uint64_t bytes = 0;
  auto key() const { return std::tuple(shares_memory, ranks, operation, bytes); }
  bool operator<(const MeasuredPoint& other) const { return key() < other.key(); }
};

// What was the fastest there.
struct MeasuredWay {
  Plan plan;                    // With its rings and levels, whole.
  std::size_t piece_bytes = 0;  // 0: in one piece.
};

// The plan of that name as a group may choose it by itself. Errors: kUsage, for whom it names `name`.
Result<Plan> measured_plan(std::string_view name, const MeasuredPoint& point);

class MeasuredRoutes {
 public:
  // Once for each point. Precondition: measured_plan() made the plan, for that point; a route more is left.
  bool add(const MeasuredPoint& point, MeasuredWay way);
  const std::map<MeasuredPoint, MeasuredWay>& all() const { return all_; }
  bool empty() const { return all_.empty(); }
  // The same for the same routes, on whatever machine; 0 for none.
  std::uint64_t digest() const;

  // Of sizes up to `bytes_max` and above that of the one before, the nearest measured way, in powers.
  struct Nearest {
    std::uint64_t bytes_max = 0;
    const MeasuredWay* way = nullptr;
  };
  // By size, the last one without end; empty where nothing was measured.
  std::vector<Nearest> of(bool shares_memory, std::uint32_t ranks, Operation operation) const;

 private:
  std::map<MeasuredPoint, MeasuredWay> all_;
};

}  // namespace thalweg
