// The part of Worker that adds up pushes, its own shards' and those of the workers below it, on their way to
// the servers. A push goes this way once under each map; sent again, it goes straight to its server, so that
// nobody depends on those in between.
#include <fmt/format.h>

#include "base/planted.h"
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
  std::erase_if(parts_, [](const auto& part) { return part.second.request->kind == RequestKind::kCombined; });
  std::vector<ShardId> expected;
  if (map().combine.kind != Combining::Kind::kNone) {
    for (std::uint32_t s = 0; s < map().shards.size(); ++s) {
      if (member_.combine_tree().passes(map().shards[s].worker, self().index)) expected.push_back(ShardId{s});
    }
  }
  combiner_.reset(map().tables, static_cast<std::uint32_t>(map().shards.size()), std::move(expected));
  const auto parent = member_.combine_tree().parent(self().index);
  for (const wire::WorkerPlace& worker : map().workers) {
    if (worker.index == parent && !worker.address.empty())
      out_->introduce(worker_node(worker.index), worker.address);
  }
}

// Who adds up this push with others before it goes on; none when it goes to its server now.
std::optional<NodeId> Worker::combiner_for(RequestPart& part) const {
  const RequestKind kind = part.request->kind;
  const bool pushes = kind == RequestKind::kPush || kind == RequestKind::kCombined;
  if (map().combine.kind == Combining::Kind::kNone || !pushes) return std::nullopt;
  if (std::exchange(part.combined_epoch, map().epoch) == map().epoch) return std::nullopt;
  if (kind == RequestKind::kPush) return self();
  const auto parent = member_.combine_tree().parent(self().index);
  return parent ? std::optional(worker_node(*parent)) : std::nullopt;
}

Status Worker::check_push(NodeId from, const Frame& frame) const {
  const FrameHeader& head = frame.head;
  if (Status epoch = member_.check_map_epoch(head); !epoch) return epoch;
  if (from.role != Role::kWorker || !member_.id() ||
      member_.combine_tree().parent(from.index) != self().index) {
    return refused(head, fmt::format("this node combines no pushes of {}", node_name(from)));
  }
  if (head.table.value >= map().tables.size()) return refused(head, "no such table");
  if (!owner_of(head)) return refused(head, "no server owns these ranges");
  if (Status owner = member_.check_owner(from, head); !owner) return owner;
  if (frame.first.empty() && frame.second.empty()) return Status::ok();
  if (frame.first.size() % sizeof(std::uint64_t) != 0 || frame.second.size() % sizeof(float) != 0) {
    return refused(head, "keys or values are no whole numbers");
  }
  return check_contribution(map().tables[head.table.value], head.ranges,
                            {frame.keys(), frame.values(), head.shard.value}, head.ranges);
}

void Worker::on_push(NodeId from, Frame frame) {
  if (stopped()) return;
  if (Status status = check_push(from, frame); !status) return answer_asker({from, frame.head}, status);
  combiner_.add(now_, from, std::move(frame));
}

void Worker::send_combined() {
  if (stopped() || map().combine.kind == Combining::Kind::kNone) return;
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
  member_.stamp(frame.head);
  put_status(frame, status);
  if (asker.from == member_.id()) return on_answer(asker.from, frame);
  out_->send(asker.from, std::move(frame));
}

}  // namespace thalweg
