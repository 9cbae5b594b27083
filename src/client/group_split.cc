// Groups split off a group: ranks that gave the same colour, on channels that none of them uses yet.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/limits.h"
#include "client/group_impl.h"

namespace thalweg {
namespace {

// What each rank says of itself.
enum Said : std::size_t { kColour, kKey, kNextChannel, kSaid };

}  // namespace

Result<std::optional<Group>> Group::split(std::int32_t colour, std::int64_t key) {
  GroupLinks& links = *impl_->links;
  const std::array<std::int64_t, kSaid> mine = {colour, key, links.next_channel};
  std::vector<std::int64_t> all(kSaid * size());
  if (Status status = all_gather<std::int64_t>(mine, all); !status) return status;
  const auto said = [&all](std::uint32_t rank, Said what) { return all[rank * kSaid + what]; };

  std::int64_t channel = 0;
  std::vector<std::uint32_t> members;
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    channel = std::max(channel, said(rank, kNextChannel));
    if (said(rank, kColour) == colour) members.push_back(rank);
  }
  if (channel + GroupChannels::kAll > limits::kChannelsMax) {
    return Status(Code::kUsage, fmt::format("groups were split off {} times already; expected no more",
                                            limits::kChannelsMax / GroupChannels::kAll - 1));
  }
  links.next_channel = static_cast<std::uint16_t>(channel + GroupChannels::kAll);
  if (colour < 0) return std::optional<Group>();
  std::stable_sort(members.begin(), members.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return said(a, kKey) < said(b, kKey); });
  const auto me =
      static_cast<std::uint32_t>(std::find(members.begin(), members.end(), rank()) - members.begin());
  const auto ranks = static_cast<std::uint32_t>(members.size());
  for (std::uint32_t& member : members) member = impl_->view->fabric_rank(member);
  auto view = std::make_shared<GroupView>(links.driver.fabric(), std::move(members),
                                          static_cast<std::uint16_t>(channel));
  return std::optional<Group>(
      Group(std::make_unique<Impl>(impl_->links, std::move(view), me, ranks, impl_->timeout)));
}

}  // namespace thalweg
