#include "cli/work/measure/route_grid.h"

#include "cli/work/local_ranks.h"

namespace thalweg {
namespace {

using GridClock = TimingEffort::Clock;
using Tell = std::function<void(const MeasuredPoint& point, const std::vector<TimedRoute>& routes)>;

constexpr int kRouteRunsMax = 20;

// By one transport and number of ranks, the smallest vectors first.
std::vector<MeasuredPoint> points_among(bool shares_memory, std::uint32_t ranks) {
  std::vector<MeasuredPoint> points;
  for (const Operation operation : kChosenOperations) {
    for (std::uint64_t bytes = RouteGrid::kBytesMin; bytes <= RouteGrid::kBytesMax; bytes *= 4)
      points.push_back({shares_memory, ranks, operation, bytes});
  }
  return points;
}

// Each point may take an equal part of the time that is left.
class Turns {
 public:
  Turns(const RouteGrid& grid, const Tell& tell)
      : grid_(grid), tell_(tell), end_(GridClock::now() + grid.limit), left_(grid.points()) {}

  Status measure_among(bool shares_memory, std::uint32_t ranks) {
    return run_local_ranks(ranks, shares_memory ? "shm" : "tcp", [&](Group& group) {
      const std::size_t size = route_memory_bytes(RouteGrid::kBytesMax, ranks);
      std::vector<std::byte> ordinary(grid_.in_group_memory ? 0 : size);
      Result<void*> memory = ordinary.data();
      if (grid_.in_group_memory) memory = group.allocate_bytes(size);
      if (!memory) return memory.status();
      for (const MeasuredPoint& point : points_among(shares_memory, ranks)) {
        if (Status status = measure(group, point, static_cast<std::byte*>(*memory)); !status.ok())
          return status;
      }
      if (grid_.in_group_memory) group.free(*memory);
      return group.barrier();
    });
  }

 private:
  Status measure(Group& group, const MeasuredPoint& point, std::byte* memory) {
    const GridClock::time_point now = GridClock::now();
    TimingEffort effort;
    effort.runs = kRouteRunsMax;
    effort.drops_slow = true;
    effort.enough = now + (end_ - now) / static_cast<GridClock::rep>(left_--);
    effort.end = end_;
    const auto timed = time_routes(group, point, effort, memory);
    if (!timed) return timed.status();
    if (group.rank() == 0 && !timed->empty()) tell_(point, *timed);
    return ok_status();
  }

  const RouteGrid& grid_;
  const Tell& tell_;
  const GridClock::time_point end_;
  std::size_t left_;
};

}  // namespace

std::size_t RouteGrid::points() const { return 2 * ranks.size() * points_among(true, 2).size(); }

Status measure_routes(const RouteGrid& grid, const Tell& tell) {
  Turns turns(grid, tell);
  for (const std::uint32_t ranks : grid.ranks) {
    for (const bool shares_memory : {true, false}) {
      if (Status status = turns.measure_among(shares_memory, ranks); !status.ok()) return status;
    }
  }
  return ok_status();
}

}  // namespace thalweg
