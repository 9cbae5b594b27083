#include "quorum/standing_query.h"

#include "quorum/message.h"

namespace thalweg::quorum {

void StandingQuery::on_frame(Instant, NodeId from, Frame frame, Transport&) {
  if (from.role != Role::kServer || from.index >= servers_) return;
  if (frame.head.op != Op::kVersioned || frame.head.code != Code::kOk) return;
  const auto message = decode_message(frame.first);
  if (!message || message->kind != Kind::kStandingReply) return;
  const auto standing = decode_standing(message->value);
  if (!standing || standing->server != from.index) return;
  gone_.erase(from.index);
  answers_[from.index] = *standing;
  rings_[from.index] = frame.head.cluster;
}

void StandingQuery::on_time(Instant now, Transport& out) {
  ask_at_ = now + ask_every_;
  Message message;
  message.kind = Kind::kStanding;
  for (std::uint32_t server = 0; server < servers_; ++server) {
    if (!answers_.contains(server) && !gone_.contains(server))
      out.send(server_node(server), frame_of(message));
  }
}

void StandingQuery::on_peer_lost(Instant, NodeId peer, Transport&) {
  if (peer.role == Role::kServer && peer.index < servers_ && !answers_.contains(peer.index))
    gone_.insert(peer.index);
}

}  // namespace thalweg::quorum
