// Frames between processes that sit in a machine room.
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

}  // namespace thalweg::sim
