// The part of Worker that adds up pushes, its own shards' and those of the workers below it, on their way to
// the servers. A push goes this way once under each map; sent again, it goes straight to its server, so that
// nobody depends on those in between.
#include <fmt/format.h>

#include "base/planted.h"
#include "cluster/fence.h"
#include "table/validate.h"
#include "worker/worker.h"

namespace thalweg {
namespace {

Status refused(const FrameHeader& head, std::string_view why) {
  return {Code::kRefused, fmt::format("{}: {}", describe(head), why)};
}

}  // namespace

// What was combined under an older map is forgotten, not sent again: it may hold what a former owner pushed.
// All who asked have their pushes still, and send them again.
void Worker::restart_combiner() {
  combine_tree_ = cluster::CombineTree(map_);
  std::erase_if(parts_, [](const auto& part) { return part.second.request->kind == RequestKind::kCombined; });
  std::vector<ShardId> expected;
  if (map_.combine.kind != Combining::Kind::kNone) {
    for (std::uint32_t s = 0; s < map_.shards.size(); ++s) {
      if (combine_tree_.passes(map_.shards[s].worker, id_->index)) expected.push_back(ShardId{s});
    }
  }
  combiner_.reset(map_.tables, static_cast<std::uint32_t>(map_.shards.size()), std::move(expected));
  const auto parent = combine_tree_.parent(id_->index);
  for (const wire::WorkerPlace& worker : map_.workers) {
    if (worker.index == parent && !worker.address.empty())
      out_->introduce(worker_node(worker.index), worker.address);
  }
}

// Who adds up this push with others before it goes on; none when it goes to its server now.
std::optional<NodeId> Worker::combiner_for(RequestPart& part) const {
  const RequestKind kind = part.request->kind;
  const bool pushes = kind == RequestKind::kPush || kind == RequestKind::kCombined;
  if (map_.combine.kind == Combining::Kind::kNone || !pushes) return std::nullopt;
  if (std::exchange(part.combined_epoch, map_.epoch) == map_.epoch) return std::nullopt;
  if (kind == RequestKind::kPush) return *id_;
  const auto parent = combine_tree_.parent(id_->index);
  return parent ? std::optional(worker_node(*parent)) : std::nullopt;
}

Status Worker::check_push(NodeId from, const Frame& frame) const {
  const FrameHeader& head = frame.head;
  if (Status epoch = cluster::check_map_epoch(head, map_); !epoch) return epoch;
  if (from.role != Role::kWorker || !id_ || combine_tree_.parent(from.index) != id_->index) {
    return refused(head, fmt::format("this node combines no pushes of {}", node_name(from)));
  }
  if (head.table.value >= map_.tables.size()) return refused(head, "no such table");
  if (!owner_of(head)) return refused(head, "no server owns these ranges");
  if (Status owner = cluster::check_owner(from, head, map_, combine_tree_); !owner) return owner;
  if (frame.first.empty() && frame.second.empty()) return Status::ok();
  if (frame.first.size() % sizeof(std::uint64_t) != 0 || frame.second.size() % sizeof(float) != 0) {
    return refused(head, "keys or values are no whole numbers");
  }
  return check_contribution(map_.tables[head.table.value], head.ranges,
                            {frame.keys(), frame.values(), head.shard.value}, head.ranges);
}

void Worker::on_push(NodeId from, Frame frame) {
  if (stopped_) return;
  if (Status status = check_push(from, frame); !status) return answer_asker({from, frame.head}, status);
  combiner_.add(now_, from, std::move(frame));
}

void Worker::send_combined() {
  if (stopped_ || map_.combine.kind == Combining::Kind::kNone) return;
  for (Combiner::Batch& batch : combiner_.take(now_)) {
    const FrameHeader head = batch.frame.head;
    auto request = make_request(RequestKind::kCombined, head.shard, head.step);
    request->askers = std::move(batch.askers);
    send_part(request, 0, *owner_of(head), std::move(batch.frame));
    if (THALWEG_BUG(kLeadAcksEarly)) finish_request(*request, Status::ok());
  }
  wake_ = std::min(wake_, combiner_.next_deadline());
}

void Worker::answer_asker(const Asker& asker, const Status& status) {
  Frame frame;
  frame.head = asker.head;
  frame.head.op = Op::kPushReply;
  frame.head.flags = 0;
  frame.head.map_epoch = map_.epoch;
  frame.head.code = status.code();
  if (!status)
    frame.first = Bytes::of(std::string_view(status.message()).substr(0, limits::kTextOfStatusMax));
  if (asker.from == id_) return on_answer(asker.from, frame);
  out_->send(asker.from, std::move(frame));
}

}  // namespace thalweg
