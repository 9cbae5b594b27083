// A rank's membership in one group; groups that were split off share its links.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "client/birth.h"
#include "client/collective/group_steps.h"
#include "client/group/channel_blocks.h"
#include "client/group/group_driver.h"
#include "client/group/group_routes.h"
#include "client/group/group_view.h"
#include "exchange/exchange.h"
#include "thalweg/group.h"

namespace thalweg {

// What a group and those split off it have in common.
struct GroupLinks {
  GroupLinks(std::unique_ptr<LiveFabric> fabric, GroupStage* stage,
             std::shared_ptr<const MeasuredRoutes> its_measured)
      : driver(std::move(fabric), stage), measured(std::move(its_measured)) {}
  GroupDriver driver;
  const std::shared_ptr<const MeasuredRoutes> measured;  // As this rank knows them.
  ChannelBlocks blocks;
  std::mutex memory;  // Of the fabric, for whoever allocates.
  const Birth birth;
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
        routes_(places_of(*links, *view, its_size), planner_of(*links, *view), *links->measured),
        sent_(its_size),
        received_(its_size) {}
  // Waits for what was started. Channels on which an operation failed may hold bytes of it, and are not used
  // again. A forked child leaves all as it is, for its parent.
  ~Impl() {
    if (links->birth.elsewhere()) {
      new auto(links);
      new auto(view);
      return;
    }
    links->driver.drain(*view);
    if (!view->failed()) links->blocks.give_back(view->first_channel() / GroupChannels::kAll);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  static Group make_root(std::unique_ptr<LiveFabric> fabric, std::uint32_t rank, std::uint32_t size,
                         Duration timeout, GroupStage* stage = nullptr,
                         std::shared_ptr<const MeasuredRoutes> measured = {});

  Status run(const GroupCall& asked);
  GroupWork start(const GroupCall& asked);
  // What run() does, on a stage: an operation of those that follow each other, whatever is started beside
  // them.
  GroupWork start_in_turn(const GroupCall& asked);
  GroupWork start(const GroupOperation& operation, const RouteChoice& route);
  // A group split off this one; `members` are ranks of it.
  std::optional<Group> made(std::vector<std::uint32_t> members, std::uint32_t block, std::uint64_t id) const;

  const GroupRoutes& routes() const { return routes_; }

  const std::shared_ptr<GroupLinks> links;
  const std::shared_ptr<GroupView> view;
  const std::uint32_t rank;
  const std::uint32_t size;
  const Duration timeout;
  std::uint64_t splits = 0;  // So far, as all ranks count.

  // What run() and start() are made of, for operations that are prepared.
  Status prepare(const GroupCall& asked, GroupJob& job);
  Status check_under_way(Operation operation) const;
  GroupPlace take_place(const GroupCall& asked, const Plan& plan, bool started);
  // Whether it was done without an exchange; else what of it is sent is said in `call`.
  bool move_at_once(const Call& call, const Plan& plan, const GroupPlace& place);
  bool sum_at_once(Call& call, const Plan& plan, const GroupPlace& place);
  Status drive(Exchange& exchange, const Plan& plan, const GroupPlace& place, Duration its_timeout);

 private:
  Status prepare(const GroupCall& asked, Call& call, const Plan*& plan,
                 std::shared_ptr<std::byte[]>& scratch);
  std::uint32_t series_channels(const RouteChoice& route, const Plan& first);
  GroupWork start(const GroupCall& asked, bool in_turn);
  GroupWork launch(GroupJob job);
  Status check_choice(const std::shared_ptr<const RoutePlans>& plans, const Plan& plan, Operation operation);
  static std::vector<RankPlace> places_of(GroupLinks& links, const GroupView& view, std::uint32_t size);
  static RoutePlanner planner_of(const GroupLinks& links, const GroupView& view) {
    return view.has_all_ranks() ? links.driver.planner() : nullptr;
  }
  GroupPlace take_started_place(std::uint32_t channels, std::uint64_t calls);
  Duration timeout_of(const GroupCall& asked) const {
    return asked.timeout.count() > 0 ? asked.timeout : timeout;
  }

  std::mutex planning_;  // Of routes_ and what was checked, for calls that follow on the group's thread.
  GroupRoutes routes_;
  std::uint64_t blocking_ = 0;  // Operations so far.
  std::uint64_t started_ = 0;
  std::uint16_t next_channel_ = 0;   // Of those for started operations.
  std::vector<std::uint64_t> sent_;  // Point to point, by peer.
  std::vector<std::uint64_t> received_;
  std::shared_ptr<const RoutePlans> checked_;  // The last choice found possible.
  Operation checked_operation_{};
};

}  // namespace thalweg
