// A server of versioned values: coordinates what clients ask of keys that it is a home of, keeps what others
// coordinate, stands in for homes that do not answer, and compares what it has with the others.
//
// Dynamo (DeCandia et al., SOSP 2007): N homes on a ring, W of which have a put and R of which answer a get
// before it is answered; hinted handoff (4.6), read repair (5), Merkle trees (4.7).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/node.h"
#include "quorum/message.h"
#include "quorum/standing.h"
#include "quorum/version_store.h"

namespace thalweg::quorum {

struct ServerOptions {
  std::uint32_t read = 2;   // Homes that answer a get, and
  std::uint32_t write = 2;  // homes that have a put, at least.
  // Whoever stands in for a home counts as one. Then puts go on while all homes but the coordinator are gone,
  // and a get may miss what stand-ins have.
  bool sloppy = false;
  Duration deadline = std::chrono::seconds(2);  // Of one request.
  // After which a home is taken for silent and another server stands in for it; requests are sent again as
  // often.
  Duration patience = std::chrono::milliseconds(200);
  Duration compare_every = std::chrono::seconds(1);  // With one other server, and hints are sent as often.
  std::uint32_t ring_epoch = 1;                      // Of rings that differ, the later has the larger one.
  std::uint32_t boot = 0;                            // Another one each time that the server starts.
};

class Server final : public Node {
 public:
  // `store` outlives this. Precondition: 1 <= read, write <= its replicas.
  Server(ServerOptions options, VersionStore& store);

  void on_frame(Instant now, NodeId from, Frame frame, Transport& out) override;
  void on_time(Instant now, Transport& out) override;
  Instant next_deadline() const override;
  void on_peer_lost(Instant now, NodeId peer, Transport& out) override;
  bool finished() const override { return false; }

  const ServerCounts& counts() const { return counts_; }
  std::size_t open_requests() const { return requests_.size(); }
  Standing standing() const;

 private:
  struct Request {
    bool put = false;
    Key key = 0;
    NodeId client;
    std::uint64_t client_number = 0;
    Instant deadline;
    Instant again_at;
    bool answered = false;
    std::vector<std::uint32_t> homes;
    Record record;                                     // Put: what is written. Get: what has come so far.
    std::map<std::uint32_t, std::uint64_t> answers;    // By home: the digest that it has.
    std::map<std::uint32_t, std::uint32_t> stand_ins;  // By home: who was asked in its place.
    std::set<std::uint32_t> stood_in;                  // Homes for which another server has answered.
    std::map<std::uint32_t, std::string> refusals;     // By server: why it cannot.
    std::set<std::uint32_t> kept;                      // Of a put: homes for which there is a hint here.
  };
  // Of one server from which all is read again that was lost.
  struct Restore {
    PlacedKey next = 0;
    std::uint64_t number = 0;
    bool done = false;
  };

  void on_failure(NodeId from, const Failure& failure);
  void on_client(Instant now, NodeId from, const Message& asked, Transport& out);
  void on_read(NodeId from, const Message& asked, Transport& out);
  void on_write(NodeId from, const Message& asked, Transport& out);
  void on_answer(Instant now, NodeId from, const Message& answer, Transport& out);

  void begin(Instant now, NodeId client, const Message& asked, Transport& out);
  void ask(std::uint64_t number, Request& request, std::uint32_t server, std::uint32_t target,
           Transport& out);
  void ask_homes(std::uint64_t number, Request& request, Transport& out);
  void find_stand_ins(std::uint64_t number, Request& request, Transport& out);
  void keep_hint(Request& request, std::uint32_t home);
  std::size_t heard(const Request& request) const;
  // Whether it is over: answered, and nobody is left to wait for.
  bool settle(Request& request, Transport& out);
  void give_up(Request& request, Transport& out);
  void repair(const Request& request, Transport& out);
  void expire(Instant now, Transport& out);
  Status timeout(const Request& request) const;
  std::uint32_t needed(const Request& request) const { return request.put ? options_.write : options_.read; }

  // server_repair.cc
  void background(Instant now, Transport& out);
  void hand_off(std::uint32_t target, Transport& out);
  void hand_over(const VersionStore::Hints::value_type& hint, Transport& out) const;
  void on_handed_over(std::uint32_t target, const Message& reply, Transport& out);
  void compare_with(std::uint32_t peer, std::uint8_t level, std::uint32_t index, Transport& out);
  void on_compare(NodeId from, const Message& theirs, Transport& out);
  void send_leaf(std::uint32_t peer, std::uint32_t leaf, Transport& out);
  void on_leaf(NodeId from, const Message& theirs, Transport& out);
  void on_sync(NodeId from, const Message& theirs, Transport& out);
  void restore(Instant now, Transport& out);
  void scan_next(std::uint32_t peer, Restore& restore, Transport& out);
  void on_scan(NodeId from, const Message& asked, Transport& out);
  void on_page(NodeId from, const Message& page, Transport& out);

  const ServerOptions options_;
  VersionStore& store_;
  std::uint64_t next_number_;
  std::map<std::uint64_t, Request> requests_;
  std::set<std::uint32_t> silent_;
  std::vector<std::uint32_t> peers_;
  std::size_t next_peer_ = 0;
  Instant background_at_{0};
  bool started_ = false;
  Instant restore_from_ = kNever;
  std::map<std::uint32_t, Restore> restores_;
  ServerCounts counts_;
};

}  // namespace thalweg::quorum
