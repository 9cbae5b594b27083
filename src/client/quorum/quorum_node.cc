// A node of a ring of versioned values, as a process.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/hash/hash.h"
#include "base/limits.h"
#include "client/quorum/other_rings.h"
#include "client/quorum/ring_access.h"
#include "client/quorum/version_log.h"
#include "net/real_clock.h"
#include "net/socket/address.h"
#include "net/socket/open_files.h"
#include "net/system_disk.h"
#include "quorum/limits.h"
#include "quorum/server.h"

namespace thalweg {
namespace {

// Clients and the log, and the other nodes.
constexpr std::size_t kRingFiles = 32, kRingFilesOfNode = 3;

struct RingPlace {
  std::uint32_t number = 0;
  std::string listen;
};

Result<RingPlace> ring_place(const QuorumNodeOptions& options) {
  const std::vector<std::string>& nodes = options.ring.nodes;
  if (options.number) {
    if (*options.number >= nodes.size()) {
      return Status{Code::kUsage, fmt::format("there is no node {} on a ring of {}, whose numbers begin at 0",
                                              *options.number, nodes.size())};
    }
    return RingPlace{*options.number, options.listen.empty() ? nodes[*options.number] : options.listen};
  }
  if (options.listen.empty()) {
    return Status{Code::kUsage,
                  fmt::format("which of the ring's {} nodes this is was not said; expected its address, "
                              "or its number from 0 on",
                              nodes.size())};
  }
  const auto found = std::ranges::find(nodes, options.listen);
  if (found == nodes.end()) {
    return Status{
        Code::kUsage,
        fmt::format("{} is none of the ring's {} nodes; expected the address of one of them, or the "
                    "number of the node that this is",
                    options.listen, nodes.size())};
  }
  return RingPlace{static_cast<std::uint32_t>(found - nodes.begin()), options.listen};
}

struct RingCounts {
  std::uint32_t replicas, read, write;
};

Result<RingCounts> ring_counts(const QuorumNodeOptions& options) {
  const auto nodes = static_cast<std::uint32_t>(options.ring.nodes.size());
  RingCounts counts{};
  counts.replicas = options.replicas == 0 ? std::min(3u, nodes) : options.replicas;
  if (counts.replicas > std::min(nodes, quorum::kReplicasMax)) {
    return Status{Code::kUsage,
                  fmt::format("{} homes of each key are more than there can be on a ring of {}; "
                              "expected at most {}",
                              counts.replicas, nodes, std::min(nodes, quorum::kReplicasMax))};
  }
  counts.read = options.read == 0 ? counts.replicas / 2 + 1 : options.read;
  counts.write = options.write == 0 ? counts.replicas / 2 + 1 : options.write;
  if (std::max(counts.read, counts.write) > counts.replicas) {
    return Status{Code::kUsage, fmt::format("{} homes that answer a get and {} that have a put: expected at "
                                            "most {}, which each key has",
                                            counts.read, counts.write, counts.replicas)};
  }
  return counts;
}

Status check_ring_times(const QuorumNodeOptions& options) {
  const RingTime times[] = {{"QuorumNodeOptions::deadline", options.deadline},
                            {"QuorumNodeOptions::patience", options.patience},
                            {"QuorumNodeOptions::compare_every", options.compare_every}};
  return check_times(times, limits::kGraceMax);
}

quorum::ServerOptions server_options(const QuorumNodeOptions& options, const RingCounts& counts) {
  quorum::ServerOptions with;
  with.read = counts.read;
  with.write = counts.write;
  with.sloppy = options.sloppy;
  with.deadline = options.deadline;
  with.patience = options.patience;
  with.compare_every = options.compare_every;
  with.boot = drawn_number();
  return with;
}

Status listen_on_ring(Tcp& driver, const QuorumRing& ring, const RingPlace& place) {
  const auto port = driver.listen(place.listen);
  if (!port) return port.status();
  for (std::uint32_t other = 0; other < ring.nodes.size(); ++other) {
    if (other == place.number) continue;
    if (Status status = driver.introduce(server_node(other), ring.nodes[other]); !status.ok()) return status;
  }
  return ok_status();
}

}  // namespace

Status run_quorum_node(const QuorumNodeOptions& options) {
  if (Status status = check(options.ring); !status.ok()) return status;
  if (Status status = check_ring_times(options); !status.ok()) return status;
  const auto place = ring_place(options);
  if (!place) return place.status();
  const auto counts = ring_counts(options);
  if (!counts) return counts.status();
  const auto secret = ring_secret(options.ring, true);
  if (!secret) return secret.status();
  if (Status status = allow_open_files(kRingFiles + kRingFilesOfNode * options.ring.nodes.size());
      !status.ok())
    return status;

  std::vector<std::uint32_t> numbers(options.ring.nodes.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  const std::uint64_t cluster =
      ring_cluster(options.ring, counts->replicas, counts->read, counts->write, options.sloppy);
  SystemDisk disk;
  // Without a log each process is another life: what it finds is what others have kept.
  std::uint32_t life = drawn_number();
  std::unique_ptr<VersionLog> log;
  if (!options.state.empty()) {
    auto opened = VersionLog::open(disk, options.state, {cluster, place->number, boot_of_machine()});
    if (!opened) return opened.status();
    log = *std::move(opened);
    life = log->life(life);
  }
  quorum::VersionStore store(HashRing(numbers), place->number, counts->replicas, life,
                             {options.hints_max, options.bytes_max});
  const std::function<void(const std::string&)> say = options.log ? options.log : [](const std::string&) {};
  if (log != nullptr) {
    if (Status status = log->attach(store); !status.ok()) return status;
    if (const std::string damage = log->damage(); !damage.empty()) say(damage);
  }
  quorum::Server server(server_options(options, *counts), store);

  const std::string name = node_name(server_node(place->number));
  const RealClock clock;
  TcpOptions tcp = ring_tcp(options.ring, *secret);
  tcp.stop = options.stop;
  tcp.told = ring_words(options.ring, counts->replicas, counts->read, counts->write, options.sloppy);
  OtherRings others(options.ring.nodes, tcp.told);
  tcp.tell = [&](const TcpEvent& event) {
    if (const std::string line = others.line_of(clock.now(), event); !line.empty()) say(line);
  };
  Tcp driver(clock, std::move(tcp));
  std::optional<KeptQuorumServer> kept;
  if (log != nullptr) kept.emplace(server, *log);
  driver.add(server_node(place->number), kept ? static_cast<Node&>(*kept) : server, cluster);
  if (Status status = listen_on_ring(driver, options.ring, *place); !status.ok()) return status;
  say(fmt::format(
      "{} of a ring of {} listens on {}; each key has {} homes, {} answer a get and {} have a put", name,
      numbers.size(), place->listen, counts->replicas, counts->read, counts->write));
  bool told = false;
  driver.run_until([&] {
    if (!told && store.complete()) {
      told = true;
      say(fmt::format("{} answers gets, with {} keys", name, store.records().size()));
    }
    return log != nullptr && !log->status().ok();
  });
  return log == nullptr ? ok_status() : log->status();
}

}  // namespace thalweg
