// The connections between the processes of a group, of every kind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/instant.h"
#include "net/group/connection_proof.h"
#include "net/group/group_acceptor.h"
#include "net/group/rendezvous.h"
#include "node/rank_place.h"
#include "thalweg/group_options.h"
#include "thalweg/status.h"

namespace thalweg {

class GroupConnector {
 public:
  GroupConnector(const GroupOptions& options, Meeting meeting, std::shared_ptr<GroupAcceptor> acceptor)
      : options_(options),
        table_(std::move(meeting.table)),
        rank_(meeting.rank),
        acceptor_(std::move(acceptor)) {}

  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(table_.members.size()); }
  const GroupTable& table() const { return table_; }
  const std::shared_ptr<GroupAcceptor>& acceptor() const { return acceptor_; }
  std::string name_of(std::uint32_t rank) const;  // "rank 3 (process 4711 at 127.0.0.1:40001)"

  // Whether it and this rank can share memory, and are to.
  Result<bool> shares_memory(std::uint32_t peer) const;
  std::vector<RankPlace> places() const;
  bool is_local(std::uint32_t peer) const;  // On this machine.
  // Whether the ranks on this rank's machine outnumber the cores that they may run on.
  bool is_crowded() const;

  // Of each pair the higher rank calls. A call waits for the connection alone, which the peer's system makes.
  bool calls(std::uint32_t peer) const { return rank_ > peer; }
  Result<RankConnection> call(std::uint32_t peer, Opening::Kind kind, std::uint16_t channel,
                              Instant deadline);
  // Empty while it has not called. kIo: this rank has had no descriptors for those who call for long.
  Result<RankConnection> accept(std::uint32_t peer, Opening::Kind kind, std::uint16_t channel);
  // Either; waits until the deadline, or until `lifeline`, the control connection with that peer, ends.
  Result<RankConnection> connect(std::uint32_t peer, Opening::Kind kind, Instant deadline, int lifeline = -1);
  // Gives this end's proof where it was called, else waits for the other's. kPeerLost, kTimeout; kRefused: it
  // does not know the secret.
  Status settle(const RankConnection& connection, std::uint32_t peer, Instant deadline) const;

 private:
  void prepare(int stream) const;
  Status left(std::uint32_t peer) const;

  GroupOptions options_;
  GroupTable table_;
  std::uint32_t rank_;
  std::shared_ptr<GroupAcceptor> acceptor_;
};

}  // namespace thalweg
