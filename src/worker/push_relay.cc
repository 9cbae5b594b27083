#include "worker/push_relay.h"

#include <fmt/format.h>

#include "table/validate.h"

namespace thalweg {
namespace {

Status refused(const FrameHeader& head, std::string_view why) {
  return {Code::kRefused, fmt::format("{}: {}", describe(head), why)};
}

}  // namespace

void PushRelay::restart(Transport& out) {
  const wire::Map& map = member_.map();
  const std::uint32_t self = member_.id()->index;
  std::vector<ShardId> expected;
  for (std::uint32_t s = 0; s < map.shards.size() && !off(); ++s) {
    if (member_.combine_tree().passes(map.shards[s].worker, self)) expected.push_back(ShardId{s});
  }
  const bool lockstep = map.consistency.kind == Consistency::Kind::kSync;
  combiner_.reset(map.tables, static_cast<std::uint32_t>(map.shards.size()), std::move(expected),
                  lockstep ? Combiner::WaitFor::kStep : Combiner::WaitFor::kAnswer);
  const auto parent = member_.combine_tree().parent(self);
  for (const wire::WorkerPlace& worker : map.workers) {
    if (worker.index == parent && !worker.address.empty())
      out.introduce(worker_node(worker.index), worker.address);
  }
}

std::optional<NodeId> PushRelay::next_hop(RequestPart& part) const {
  const RequestKind kind = part.request->kind;
  const bool by_tree =
      kind == RequestKind::kPush || kind == RequestKind::kCombined || kind == RequestKind::kFollow;
  if (off() || !by_tree) return std::nullopt;
  const std::uint32_t epoch = member_.map().epoch;
  if (std::exchange(part.combined_epoch, epoch) == epoch) return std::nullopt;
  if (kind == RequestKind::kPush) return member_.id();
  const auto parent = member_.combine_tree().parent(member_.id()->index);
  return parent ? std::optional(worker_node(*parent)) : std::nullopt;
}

Status PushRelay::check(NodeId from, const Frame& frame) const {
  const wire::Map& map = member_.map();
  const FrameHeader& head = frame.head;
  if (Status epoch = member_.check_map_epoch(head); !epoch.ok()) return epoch;
  if (from.role != Role::kWorker || !member_.id() ||
      member_.combine_tree().parent(from.index) != member_.id()->index) {
    return refused(head, fmt::format("this node combines no pushes of {}", node_name(from)));
  }
  if (head.table.value >= map.tables.size()) return refused(head, "no such table");
  if (!owner_of(map, head)) return refused(head, "no server owns these ranges");
  if (Status owner = member_.check_owner(from, head); !owner.ok()) return owner;
  if (frame.first.empty() && frame.second.empty()) return ok_status();
  if (frame.first.size() % sizeof(std::uint64_t) != 0 || frame.second.size() % sizeof(float) != 0) {
    return refused(head, "keys or values are no whole numbers");
  }
  return check_contribution(map.tables[head.table.value], head.ranges,
                            {frame.keys(), frame.values(), head.shard.value}, head.ranges);
}

std::vector<Combiner::Batch> PushRelay::take(Instant now) {
  return off() ? std::vector<Combiner::Batch>() : combiner_.take(now);
}

}  // namespace thalweg
