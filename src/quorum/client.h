// Who puts and gets versioned values: one request at a time, which it takes from one home of the key to the
// next until one of them answers or its time is over.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/node.h"
#include "placement/hash_ring.h"
#include "quorum/message.h"

namespace thalweg::quorum {

struct ClientOptions {
  std::vector<std::uint32_t> servers;  // Of the ring, as far as is known: servers tell who is wrong.
  std::uint32_t replicas = 1;
  std::uint32_t ring_epoch = 0;
  bool all_named = false;  // A request of a ring that has others than `servers` ends with kUsage, undone.
  Duration deadline = std::chrono::seconds(10);    // Of one request, with all that is tried.
  Duration try_timeout = std::chrono::seconds(3);  // Of one try; more than the servers' deadline.
  Duration retry_after = std::chrono::milliseconds(20);
  Duration away_for = std::chrono::seconds(1);  // After a server was silent, others are asked before it.
  std::uint32_t boot = 0;                       // Another one each time that the client starts.
};

struct ClientResult {
  Status status;
  std::vector<Bytes>
      values;           // Of a get: of all versions that none of the others has seen; none: no such key.
  VectorClock context;  // Of a get: what a put is to say that it has seen.
  std::uint32_t tries = 0;
  std::uint32_t refreshes = 0;  // Rings that it was told of.
};

class Client final : public Node {
 public:
  explicit Client(ClientOptions options);

  // Precondition of both: there is no request.
  void get(Instant now, Key key, Transport& out);
  // Takes the place of all versions that `context` has seen. When it fails it may have come to some servers,
  // and may yet come to others. At most kValueBytesMax.
  void put(Instant now, Key key, const VectorClock& context, Bytes value, Transport& out);
  // The request's, once.
  std::optional<ClientResult> take_result();
  bool busy() const { return open_ && !result_; }

  void on_frame(Instant now, NodeId from, Frame frame, Transport& out) override;
  void on_time(Instant now, Transport& out) override;
  Instant next_deadline() const override;
  void on_peer_lost(Instant now, NodeId peer, Transport& out) override;
  bool finished() const override { return false; }

  const HashRing& ring() const { return ring_; }

 private:
  void begin(Instant now, Transport& out);
  void send_next(Instant now, Transport& out);
  void try_later(Instant now, const Status& why);
  void take_ring(Instant now, const Message& ring, Transport& out);
  std::uint32_t next_home(Instant now) const;
  void pass_over(Instant now);
  std::string trouble() const;
  void end(Status status);

  const ClientOptions options_;
  HashRing ring_;
  std::uint32_t replicas_;
  std::uint32_t ring_epoch_;
  std::uint64_t next_number_;
  bool open_ = false;
  Message asked_;
  NodeId server_;
  std::size_t turn_ = 0;  // Which home of the key is asked next.
  Instant deadline_;
  Instant again_at_ = kNever;
  bool waits_ = false;  // For an answer, else to try again.
  Status last_;
  Status told_;                     // The last failure that a server has told.
  std::set<std::uint32_t> silent_;  // Servers that did not answer this request.
  std::map<std::uint32_t, Instant> away_until_;
  ClientResult so_far_;
  std::optional<ClientResult> result_;
};

}  // namespace thalweg::quorum
