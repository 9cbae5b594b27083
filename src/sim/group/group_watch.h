// What is promised of groups, checked as it happens.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/group/group_world.h"
#include "thalweg/status.h"

namespace thalweg::sim {

class GroupWatch {
 public:
  explicit GroupWatch(GroupWorld& world);

  // `last_came`: when its leader had begun to wait and the last of the others had come.
  void formed(std::uint64_t group, const std::vector<std::uint32_t>& processes, Instant last_came);
  void entered(std::uint32_t process, std::uint64_t group, const std::vector<std::uint32_t>& processes);
  void succeeded(std::uint32_t process, const std::string& operation, bool right);
  void failed(std::uint32_t process, std::uint64_t group, std::uint32_t guilty, const Status& how);
  void waits_too_long(std::uint32_t process, const std::string& what);
  void finished(std::uint32_t process, const Status& how);
  // When nothing is left to happen.
  void end();

  std::uint64_t groups() const { return groups_; }
  std::uint64_t operations() const { return operations_; }
  std::uint64_t failures() const { return failures_; }

 private:
  bool strict() const { return culprit_ && first_whole_; }
  bool had_fault(std::uint32_t process) const;

  GroupWorld& world_;
  std::optional<std::uint32_t> culprit_;  // All that goes wrong is that this rank is killed or stands still.
  bool first_whole_ = false;              // That came when the first group had formed everywhere.
  std::vector<bool> over_;
  std::vector<Status> ended_;
  std::uint32_t entered_first_ = 0;
  std::vector<std::uint64_t> group_of_;            // By process; kNone at first.
  std::map<std::uint64_t, std::uint64_t> parent_;  // By group.
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t groups_ = 0, operations_ = 0, failures_ = 0;
};

}  // namespace thalweg::sim
