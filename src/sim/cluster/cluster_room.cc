// Frames between processes that sit in a machine room, and what ends beside all frames.
#include <algorithm>

#include "sim/cluster/cluster.h"

namespace thalweg::sim {

void Cluster::send_in_room(const Process& from, Link link, Frame frame) {
  const std::uint64_t bytes = network_.count(frame);
  Mail mail{link.to, from.id, std::move(frame), {}, link, kAnyConnection, room_->begin(now_, link, bytes)};
  carry(mails_.put(std::move(mail)));
}

// Its first byte is at the next link.
void Cluster::carry(std::uint32_t slot) {
  RoomLinks::Passage& passage = mails_[slot].passage;
  const Instant next = room_->go_on(now_, passage);
  queue_.push(next, {RoomLinks::arrived(passage) ? Event::Kind::kFrame : Event::Kind::kLink, slot});
}

void Cluster::end_request(Instant when, ShardId shard, std::shared_ptr<Completion> completion, Status how) {
  at(std::max(when, now_), [this, shard, completion = std::move(completion), how = std::move(how)] {
    const auto owns = [shard](const auto& process) {
      return process->worker != nullptr && !process->observer && process->worker->started(shard);
    };
    const auto owner = std::find_if(processes_.begin(), processes_.end(), owns);
    if (owner == processes_.end()) return;
    by_driver((*owner)->place, [&](Process& process, Instant local, Transport& out) {
      process.worker->turn(local, out, [&] { process.worker->end_request(shard, completion, how); });
    });
  });
}

}  // namespace thalweg::sim
