// Groups split off a group: ranks that gave the same colour, on channels that all of them have free.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/random.h"
#include "client/group/group_impl.h"

namespace thalweg {
namespace {

static_assert(Group::kSplitsMax == ChannelBlocks::kBlocks - 1);

// What each rank says of itself.
enum Said : std::size_t { kColour, kKey, kFree, kSaid };
// Threads that split off groups at the same time may want the same block this often.
constexpr std::uint64_t kTriesMax = 100;

struct Members {
  std::vector<std::uint32_t> ranks;  // In the order of the new group.
  std::uint64_t free = ~std::uint64_t{0};
};

// Those of one colour.
Result<Members> ask_members(Group& group, std::int32_t colour, std::int64_t key, std::uint64_t free) {
  const std::array<std::int64_t, kSaid> mine = {colour, key, static_cast<std::int64_t>(free)};
  std::vector<std::int64_t> all(kSaid * group.size());
  if (Status status = group.all_gather<std::int64_t>(mine, all); !status.ok()) return status;
  const auto said = [&all](std::uint32_t rank, Said what) { return all[rank * kSaid + what]; };
  Members members;
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    if (said(rank, kColour) != colour) continue;
    members.ranks.push_back(rank);
    members.free &= static_cast<std::uint64_t>(said(rank, kFree));
  }
  std::stable_sort(members.ranks.begin(), members.ranks.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return said(a, kKey) < said(b, kKey); });
  return members;
}

// One that is free at all members; by chance, so that two groups which want the same one do not again.
std::uint32_t choose_block(std::uint64_t free, std::uint64_t chance) {
  for (auto skip = chance % static_cast<std::uint64_t>(std::popcount(free)); skip > 0; --skip)
    free &= free - 1;
  return static_cast<std::uint32_t>(std::countr_zero(free));
}

}  // namespace

Result<std::optional<Group>> Group::split(std::int32_t colour, std::int64_t key) {
  const std::uint64_t id = splitmix(impl_->view->id() + ++impl_->splits);
  ChannelBlocks& blocks = impl_->links->blocks;
  for (std::uint64_t attempt = 0; attempt < kTriesMax; ++attempt) {
    Result<Members> members = ask_members(*this, colour, key, blocks.free());
    if (!members) return members.status();
    const bool wants = colour >= 0 && members->free != 0;
    const std::uint32_t block = wants ? choose_block(members->free, splitmix(id + attempt)) : 0;
    const bool has = wants && blocks.take(block);
    std::int32_t all_have = has || !wants ? 1 : 0;
    const Status status = all_reduce<std::int32_t>(std::span(&all_have, 1), Reduction::kMin);
    if (has && (!status.ok() || all_have == 0)) blocks.give_back(block);
    if (!status.ok()) return status;
    if (all_have == 0) continue;
    if (has)
      return impl_->made(std::move(members->ranks), block, splitmix(id ^ static_cast<std::uint64_t>(colour)));
    if (colour < 0) return std::optional<Group>();
    return Status(Code::kRetry,
                  fmt::format("split: a rank of this group is in {} groups that were split off; expected "
                              "at most {} at a time: drop one that is not needed",
                              kSplitsMax, kSplitsMax));
  }
  return Status(Code::kRetry, "split: other threads of the ranks split off groups all the time");
}

std::optional<Group> Group::Impl::made(std::vector<std::uint32_t> members, std::uint32_t block,
                                       std::uint64_t id) const {
  const auto me = std::find(members.begin(), members.end(), rank) - members.begin();
  const auto ranks = static_cast<std::uint32_t>(members.size());
  for (std::uint32_t& member : members) member = view->fabric_rank(member);
  auto its_view = std::make_shared<GroupView>(links->driver.fabric(), std::move(members), ranks,
                                              static_cast<std::uint16_t>(block * GroupChannels::kAll), id);
  return Group(
      std::make_unique<Impl>(links, std::move(its_view), static_cast<std::uint32_t>(me), ranks, timeout));
}

}  // namespace thalweg
