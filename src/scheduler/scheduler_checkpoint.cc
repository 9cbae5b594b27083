// The part of Scheduler that has servers store their rows.
#include <algorithm>
#include <set>

#include "scheduler/scheduler.h"

namespace thalweg {

void Scheduler::order_checkpoint(Instant now, Transport& out) {
  std::set<std::uint32_t> owners;
  for (const Placement& placement : map_.placement) {
    for (const PlacedRun& run : placement.runs()) owners.insert(run.chain.front());
  }
  const auto order = checkpoints_.next_order(now, owners);
  if (!order) return;
  const Bytes bytes = encode(order->order);
  for (const std::uint32_t server : order->to)
    send(server_node(server), Op::kCheckpoint, ok_status(), bytes, out);
}

void Scheduler::on_checkpoint_report(Instant now, NodeId from, const Frame& frame) {
  const auto report = wire::decode_checkpoint_report(frame.first);
  if (!report || from.role != Role::kServer || stopped_ || members_.at(from).gone()) return;
  tell(checkpoints_.on_report(now, from.index, *report));
}

void Scheduler::tell(const Checkpoints::Outcome& outcome) const {
  if (!outcome) return;
  if (const auto* taken = std::get_if<TakenCheckpoint>(&*outcome)) {
    if (options_.on_checkpoint_taken) options_.on_checkpoint_taken(*taken);
  } else if (options_.on_checkpoint_failed) {
    options_.on_checkpoint_failed(std::get<FailedCheckpoint>(*outcome));
  }
}

}  // namespace thalweg
