// Max-min fair rates: no flow can be given more without taking from one that has no more than it. By
// progressive filling (D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thalweg {

class MaxMin {
 public:
  // A flow makes use of a capacity: what it carries in a second takes so many seconds of it.
  struct Use {
    std::uint32_t capacity = 0;
    double seconds = 0;  // Above 0.
  };

  void clear();  // Forgets all flows.
  // Adds a flow, which has one use or more.
  void add(std::span<const Use> uses);
  // Seconds that each flow takes for a unit, in the order in which they were added: the inverse of its rate.
  // All flows grow alike until a capacity is used up, which ends the growth of those who use it. Takes time
  // of the uses, times the logarithm of the capacities.
  const std::vector<double>& solve();

 private:
  struct Capacity {
    double left = 1;
    double wanted = 0;  // By flows that still grow, for each unit of rate.
    std::uint32_t growing = 0;
    std::uint32_t flows_begin = 0;  // In flows_at_.
    std::uint32_t flows_end = 0;
    double pace() const { return wanted / left; }  // At which its growing flows would use it up.
  };
  std::uint32_t local(std::uint32_t capacity);
  void index_flows();
  void end_growth(std::uint32_t flow, double pace);

  std::vector<std::uint32_t> numbers_;  // By capacity: its number here plus 1; 0: none.
  std::vector<std::uint32_t> used_;     // Capacities, by number here.
  std::vector<Capacity> capacities_;    // By number here.
  std::vector<Use> uses_;
  std::vector<std::uint32_t> uses_begin_ = {0};  // By flow, and where the next would begin.
  std::vector<std::uint32_t> flows_at_;
  std::vector<double> paces_;
};

}  // namespace thalweg
