// Versioned values: keys that are put and got at a ring of nodes, each of which several nodes keep, so that
// puts and gets go on while some are away. After Dynamo (DeCandia et al., SOSP 2007); docs/quorum.md says
// what is promised.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/ids.h"
#include "thalweg/secret.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::size_t kVersionedValueBytesMax = std::size_t{1} << 20;

// Where the nodes of a ring are, and what its nodes and clients know that nobody else does.
struct QuorumRing {
  // All of them, "host:port", in the same order at every node and client: a node's place is its number.
  std::vector<std::string> nodes;
  // The secret, or the file that holds it; a node makes the file where it does not exist. Without either it
  // is this user's own on this machine, and with `insecure_no_auth` none: whoever comes is answered.
  std::optional<Secret> secret;
  std::string secret_file;
  // Nodes listen on other addresses than loopback, and clients call them, although nothing is encrypted.
  bool insecure_no_auth = false;
};

struct QuorumNodeOptions {
  QuorumRing ring;
  std::string listen;                   // Empty: the node's own address in the ring.
  std::optional<std::uint32_t> number;  // Which of the ring's nodes this is; else the one that `listen` is.
  std::uint32_t replicas = 0;  // Nodes that have each key, its homes, at most 5; 0: 3, or all if less.
  std::uint32_t read = 0;      // Homes that answer a get; 0: more than half of them.
  std::uint32_t write = 0;     // Homes that have a put before it is answered; 0: the same.
  // Who stands in for a home counts as one: puts go on while all homes but one are gone, and a get may miss
  // what stand-ins have.
  bool sloppy = false;
  std::chrono::nanoseconds deadline = std::chrono::seconds(1);  // Of one request; at most 1 h.
  // A home that does not answer for so long is passed over, until it says something again.
  std::chrono::nanoseconds patience = std::chrono::milliseconds(200);
  // From one comparison with another node to the next, and from one attempt to hand hints over to the next.
  std::chrono::nanoseconds compare_every = std::chrono::seconds(1);
  std::uint64_t bytes_max = std::uint64_t{1} << 30;  // Of versions and hints; above it puts are refused.
  std::uint32_t hints_max = 1u << 16;                // Keys that are kept for nodes that are away.
  // A directory for a log of what the node has, made where there is nothing; one node's at a time. Empty:
  // what it has ends with the process.
  std::string state;
  const std::atomic<bool>* stop = nullptr;           // Ends the node soon after it turns true.
  std::function<void(const std::string& line)> log;  // One line for people: who is lost, what is refused.
};

// Runs this process as a node of a ring until it is stopped. One that starts without a log of what it has
// told others gets from them what it is a home of, and answers gets once it has all of it. Errors: kUsage;
// kIo, also where the log can be written no more; kModel: the directory holds something else.
Status run_quorum_node(const QuorumNodeOptions& options);

struct QuorumClientOptions {
  QuorumRing ring;
  std::chrono::nanoseconds deadline = std::chrono::seconds(10);  // Of one call, whatever is tried.
  // After which the next home of the key is asked; more than the nodes' own deadline.
  std::chrono::nanoseconds try_for = std::chrono::seconds(3);
};

// What a get finds.
struct Versions {
  // None: nothing was put. Several: puts that knew nothing of each other.
  std::vector<std::string> values;
  // What a put says that it has seen, so that it takes the place of all of these: the key and a
  // vector clock, as text.
  std::string context;
};

// One thread at a time. Connections last from one call to the next.
class QuorumClient {
 public:
  // Connects to nobody yet. kUsage, kIo: the options cannot be right.
  static Result<std::unique_ptr<QuorumClient>> open(const QuorumClientOptions& options);
  ~QuorumClient();
  QuorumClient(const QuorumClient&) = delete;
  QuorumClient& operator=(const QuorumClient&) = delete;

  // Errors of both: kUsage; kTimeout, saying which nodes did not answer; kRefused.
  Result<Versions> get(Key key);
  // Takes the place of the versions that `context` has seen, and stands beside all others. A put that failed
  // may be at some nodes, and may yet come to the others. kUsage: the context is of another key. kRefused:
  // too many versions stand beside each other, the context knows of puts that were not, or the node is full.
  Status put(Key key, std::string_view value, std::string_view context = {});

 private:
  class Impl;
  explicit QuorumClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct QuorumNodeStatus {
  std::uint32_t number = 0;
  std::string address;
  bool answers = false;
  std::string why;  // It has no answer, as far as the client met anything. Nothing below is known then.
  // Of what the node was told: which nodes in which order, N, R, W. Those of another one do not hear it.
  std::uint64_t ring = 0;
  std::uint32_t replicas = 0, read = 0, write = 0;
  bool sloppy = false;
  bool as_named = false;              // Word for word the nodes that the client was told.
  bool complete = false;              // It answers gets: it has all again that it had before it was started.
  std::uint64_t keys = 0;             // Of which it is a home.
  std::uint64_t bytes = 0;            // Of versions and hints.
  std::uint64_t hints = 0;            // That it keeps for others.
  std::uint64_t open = 0;             // Requests under way.
  std::vector<std::uint32_t> silent;  // Nodes that did not answer it of late.
  // Since it was started.
  std::uint64_t puts = 0, gets = 0, failed = 0, refused = 0;
  std::uint64_t hints_kept = 0, hints_delivered = 0;
  std::uint64_t repaired = 0;  // Homes that a get has given what they lacked.
  std::uint64_t synced = 0;    // Keys that were news, when compared with other nodes.
  std::uint64_t restored = 0;  // Keys that were read again after the start.
};

// Of each node of the ring, by number. Errors: kUsage, kIo; kTimeout: none has answered by the deadline.
Result<std::vector<QuorumNodeStatus>> quorum_status(const QuorumClientOptions& options);

}  // namespace thalweg
