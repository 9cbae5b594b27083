// Rows by group, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/metric/group_metric.h"

namespace thalweg {

// All rows of all groups while there are at most `rows_max`. With more of them half of the groups go, those
// whose hash has a bit set, and again, so that what is left is whole groups, a sample of them that does not
// depend on the rows' order. 24 bytes a row.
class GroupRows {
 public:
  explicit GroupRows(std::size_t rows_max) : rows_max_(rows_max) {}
  // Precondition: the hashes of groups are uniform.
  void add(const GroupRow& row);

  struct Measures {
    std::uint64_t groups = 0;      // Those that were kept.
    std::uint64_t rows = 0;        // Theirs.
    double part = 1;               // Of all groups, as chance has it, those that were kept.
    std::vector<double> values{};  // In the order of group_metrics(); NaN where no group has one.
  };
  // Of one group, in the order of group_metrics(); a value of NaN counts for nothing.
  struct OfGroup {
    std::uint64_t group;
    std::span<const double> values;
    std::span<const double> shares;
  };
  Measures measure(std::size_t k, const std::function<void(const OfGroup&)>& each = {});

 private:
  bool keeps(std::uint64_t group) const { return bits_ == 0 || group >> (64 - bits_) == 0; }

  std::size_t rows_max_;
  unsigned bits_ = 0;  // That are 0 at the head of the hashes of groups that are kept.
  bool has_nan_ = false;
  std::vector<GroupRow> rows_;
};

}  // namespace thalweg
