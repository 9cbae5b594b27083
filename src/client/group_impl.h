// A rank's membership in one group; groups that were split off share its links.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "client/group_driver.h"
#include "client/group_routes.h"
#include "client/group_view.h"
#include "exchange/exchange.h"
#include "thalweg/group.h"

namespace thalweg {

// What a group and those split off it have in common.
struct GroupLinks {
  explicit GroupLinks(std::unique_ptr<LiveFabric> fabric) : driver(std::move(fabric)) {}
  GroupDriver driver;
  std::uint16_t next_channel = GroupChannels::kAll;  // Of the next group to be split off.
};

class Group::Impl {
 public:
  Impl(std::shared_ptr<GroupLinks> its_links, std::shared_ptr<GroupView> its_view, std::uint32_t its_rank,
       std::uint32_t its_size, Duration its_timeout)
      : links(std::move(its_links)),
        view(std::move(its_view)),
        rank(its_rank),
        size(its_size),
        timeout(its_timeout),
        routes_(places_of(*links, *view, its_size)),
        sent_(its_size),
        received_(its_size) {}
  static Group make_root(std::unique_ptr<LiveFabric> fabric, std::uint32_t rank, std::uint32_t size,
                         Duration timeout);

  Status run(const GroupCall& asked);
  GroupWork start(const GroupCall& asked);

  const std::shared_ptr<GroupLinks> links;
  const std::shared_ptr<GroupView> view;
  const std::uint32_t rank;
  const std::uint32_t size;
  const Duration timeout;

 private:
  // What tells an operation from the others of its group; the same at all its ranks.
  struct Place {
    std::uint64_t sequence = 0;
    std::uint16_t first_channel = 0;
    std::uint64_t order = 0;
  };

  Status prepare(const GroupCall& asked, bool started, Call& call, const Plan*& plan,
                 std::shared_ptr<std::byte[]>& scratch);
  Status check_choice(const std::shared_ptr<const RouteChoice::Plans>& plans, const Plan& plan,
                      Operation operation, bool started);
  static std::vector<RankPlace> places_of(GroupLinks& links, const GroupView& view, std::uint32_t size);
  Place take_place(const GroupCall& asked, bool started);
  GroupWork hand_over(const GroupCall& asked, bool started);
  Duration timeout_of(const GroupCall& asked) const {
    return asked.timeout.count() > 0 ? asked.timeout : timeout;
  }

  GroupRoutes routes_;
  std::uint64_t blocking_ = 0;  // Operations so far.
  std::uint64_t started_ = 0;
  std::vector<std::uint64_t> sent_;  // Point to point, by peer.
  std::vector<std::uint64_t> received_;
  std::shared_ptr<const RouteChoice::Plans> checked_;  // The last choice found possible.
  Operation checked_operation_{};
};

}  // namespace thalweg
