// The driver between processes: nodes of this process talk over TCP connections, all on the calling thread.
// While that computes for a node, and that takes long, a thread of the driver's own stands in for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "net/tcp/tcp_event.h"
#include "node/node.h"
#include "thalweg/secret.h"
#include "thalweg/status.h"

namespace thalweg {

struct TcpOptions {
  // How long to look for new bytes before sleeping. 0 where processes outnumber cores.
  Duration spin = std::chrono::microseconds(50);
  // Of the job: who does not know it is not heard, and told nothing.
  Secret secret;
  // Listen beyond this machine although frames are neither encrypted nor signed.
  bool insecure_no_auth = false;
  Duration peer_grace = limits::kPeerGrace;
  Duration hello_timeout = limits::kHelloTimeout;
  // Of a peer on this machine that was connected: its port is closed, or its process has ended. Do not wait
  // for the grace to pass.
  bool refused_is_lost = true;
  // A peer that never was connected is lost as well, each time that it cannot be called: for nodes that have
  // others to ask.
  bool unmet_is_lost = false;
  // Workers come and go as they like: nothing is said of their leaving, and one that does not read what it
  // has asked for is not heard.
  bool workers_are_clients = false;
  std::size_t send_queue_bytes_max = limits::kSendQueueBytesMax;
  // Answers queued for one peer; above it nothing more is read from that peer until half is sent.
  std::size_t answer_bytes_high = std::size_t{32} << 20;
  // Kernel buffers of each connection and direction.
  int socket_buffer_bytes = 4 << 20;
  std::size_t connections_max = limits::kConnectionsMax;
  // Of those that have not said who they are, or have no place in the job yet, the oldest makes room.
  std::size_t strangers_max = limits::kConnectionsBeforeHelloMax;
  // Nodes of this user on this machine are reached by sockets that are cheaper than TCP.
  bool local_way = true;
  // Ends every wait soon after it turns true; may be set by a signal handler.
  const std::atomic<bool>* stop = nullptr;
  // What nodes of the same cluster were told: those of another one learn it, with the secret proven. At most
  // kToldBytesMax bytes of it.
  std::string told;
  // Of refused connections and of lost peers at most so many a minute are told: the others are counted in
  // one.
  std::size_t events_max = 10;
  std::function<void(const TcpEvent&)> tell = [](const TcpEvent&) {};
};

struct TcpStats {
  std::size_t connections = 0;
  std::size_t local = 0;             // Of them, those that are not by TCP.
  std::size_t strangers = 0;         // Of them, those that have no place in the job.
  std::uint64_t calls_taken = 0;     // By a node at the address that was called.
  std::size_t queued_bytes = 0;      // In all send queues.
  std::uint64_t frames_dropped = 0;  // By full send queues.
  std::uint64_t refused = 0;         // Connections closed because of what they sent.
  std::uint64_t sent_bytes = 0;      // That the kernel took, handshakes included.
};

// Not for several threads, but for wake(). Nodes run only inside run_until(), flush() and turn(); none of
// these is called from inside a turn. Frames between nodes of one driver pass by reference.
class Tcp {
 public:
  Tcp(const Clock& clock, TcpOptions options);
  ~Tcp();  // Closes all connections; what is queued is lost, see flush().
  Tcp(const Tcp&) = delete;
  Tcp& operator=(const Tcp&) = delete;

  // `address` is "host:port"; port 0 takes a free one. The port listened on. May be called several times.
  Result<std::uint16_t> listen(std::string_view address);
  // `node` must outlive the driver. `cluster` 0: not yet known.
  void add(NodeId id, Node& node, std::uint64_t cluster = 0);
  // Where `node` can be reached; also what Transport::introduce does.
  Status introduce(NodeId node, std::string_view address);

  // Runs `act` as a turn of the node, which is of this driver.
  void turn(NodeId id, const std::function<void(Instant, Transport&)>& act);
  // Runs nodes and connections until `done` is true; false after `deadline` or when told to stop. What a node
  // computes is not interrupted; meanwhile `done` may be asked by another thread, again after it was true.
  bool run_until(const std::function<bool()>& done, Instant deadline = kNever);
  // Until everything for connected peers has been given to the kernel.
  bool flush(Instant deadline);
  // From any thread: `done` of run_until() is asked soon.
  void wake();

  Instant now() const;
  TcpStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg
