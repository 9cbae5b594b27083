// Who asks every server of a ring how it stands.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "node/node.h"
#include "quorum/standing.h"

namespace thalweg::quorum {

class StandingQuery final : public Node {
 public:
  StandingQuery(std::uint32_t servers, Duration ask_every) : servers_(servers), ask_every_(ask_every) {}

  void on_frame(Instant now, NodeId from, Frame frame, Transport& out) override;
  void on_time(Instant now, Transport& out) override;
  Instant next_deadline() const override { return finished() ? kNever : ask_at_; }
  void on_peer_lost(Instant now, NodeId peer, Transport& out) override;
  // All have answered, or are gone.
  bool finished() const override { return answers_.size() + gone_.size() == servers_; }

  // By server.
  const std::map<std::uint32_t, Standing>& answers() const { return answers_; }
  // What each that has answered was told of the ring, as one number.
  const std::map<std::uint32_t, std::uint64_t>& rings() const { return rings_; }

 private:
  const std::uint32_t servers_;
  const Duration ask_every_;
  Instant ask_at_{0};
  std::map<std::uint32_t, Standing> answers_;
  std::map<std::uint32_t, std::uint64_t> rings_;
  std::set<std::uint32_t> gone_;
};

}  // namespace thalweg::quorum
