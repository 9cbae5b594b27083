// A client of a ring of versioned values, which waits for each of its requests.
#include <fmt/format.h>

#include <map>
#include <numeric>
#include <utility>

#include "base/limits.h"
#include "client/quorum/other_rings.h"
#include "client/quorum/ring_access.h"
#include "net/real_clock.h"
#include "quorum/client.h"
#include "quorum/limits.h"
#include "quorum/standing_query.h"

namespace thalweg {
namespace {

static_assert(kVersionedValueBytesMax == quorum::kValueBytesMax);

constexpr const char* kOtherOrder = "; the ring is to be named as its nodes were told it, in the same order";
constexpr Duration kStandingAskedEvery = std::chrono::milliseconds(500);

Status check_ring_client(const QuorumClientOptions& options) {
  if (Status status = check(options.ring); !status.ok()) return status;
  const RingTime times[] = {{"QuorumClientOptions::deadline", options.deadline},
                            {"QuorumClientOptions::try_for", options.try_for}};
  return check_times(times, limits::kTimeoutMax);
}

quorum::ClientOptions ring_client(const QuorumClientOptions& options) {
  quorum::ClientOptions out;
  out.servers.resize(options.ring.nodes.size());
  std::iota(out.servers.begin(), out.servers.end(), 0u);
  out.all_named = true;
  out.replicas = std::min(static_cast<std::uint32_t>(out.servers.size()), quorum::kReplicasMax);
  out.deadline = options.deadline;
  out.try_timeout = options.try_for;
  out.boot = drawn_number();
  return out;
}

// A driver that knows where the ring is, for one node that belongs to nobody.
class RingCaller {
 public:
  RingCaller(const QuorumRing& ring, const Secret& secret, Node& node)
      : ring_(ring), id_(worker_node(drawn_number())), driver_(clock_, [&] {
          TcpOptions tcp = ring_tcp(ring, secret);
          tcp.events_max = ring.nodes.size();
          tcp.tell = [this](const TcpEvent& event) { note(event); };
          return tcp;
        }()) {
    driver_.add(id_, node);
  }
  Status introduce() {
    for (std::uint32_t number = 0; number < ring_.nodes.size(); ++number) {
      if (Status status = driver_.introduce(server_node(number), ring_.nodes[number]); !status.ok())
        return status;
    }
    return ok_status();
  }
  Tcp& driver() { return driver_; }
  NodeId id() const { return id_; }
  void forget_complaint() { complaint_ = {}; }
  // What has kept it from calling a node; empty: nothing.
  std::string complaint() const {
    return to_text(complaint_) + (complaint_.reason.cause == TcpCause::kPlace ? kOtherOrder : "");
  }
  // Why the node could not be called; empty: it could.
  std::string why_not(std::uint32_t number) const {
    const auto found = why_not_.find(number);
    return found == why_not_.end() ? std::string() : found->second;
  }

 private:
  void note(const TcpEvent& event) {
    if (complaint_.reason.cause != TcpCause::kSecret) complaint_ = event;  // It explains the most.
    if (event.kind == TcpEvent::Kind::kUnreached) why_not_[event.peer->index] = event.reason.why;
  }

  const QuorumRing ring_;
  const RealClock clock_;
  const NodeId id_;
  TcpEvent complaint_;
  std::map<std::uint32_t, std::string> why_not_;
  Tcp driver_;
};

}  // namespace

class QuorumClient::Impl {
 public:
  Impl(const QuorumClientOptions& options, const Secret& secret)
      : ring_(options.ring), client_(ring_client(options)), caller_(ring_, secret, client_) {}
  Status introduce() { return caller_.introduce(); }
  std::size_t nodes() const { return ring_.nodes.size(); }

  template <class Begin>
  Result<quorum::ClientResult> run(const Begin& begin) {
    caller_.forget_complaint();
    caller_.driver().turn(caller_.id(), [&](Instant now, Transport& out) { begin(client_, now, out); });
    caller_.driver().run_until([&] { return !client_.busy(); });
    quorum::ClientResult result = *client_.take_result();
    if (result.status.ok()) return result;
    Status failed = with_addresses(result.status, ring_);
    const std::string complaint = caller_.complaint();
    if (failed.code() != Code::kTimeout || complaint.empty()) return failed;
    return Status{failed.code(), failed.message() + "; " + complaint};
  }

 private:
  const QuorumRing ring_;
  quorum::Client client_;
  RingCaller caller_;
};

QuorumClient::QuorumClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
QuorumClient::~QuorumClient() = default;

Result<std::unique_ptr<QuorumClient>> QuorumClient::open(const QuorumClientOptions& options) {
  if (Status status = check_ring_client(options); !status.ok()) return status;
  const auto secret = ring_secret(options.ring, false);
  if (!secret) return secret.status();
  auto impl = std::make_unique<Impl>(options, *secret);
  if (Status status = impl->introduce(); !status.ok()) return status;
  return std::unique_ptr<QuorumClient>(new QuorumClient(std::move(impl)));
}

Result<Versions> QuorumClient::get(Key key) {
  auto result =
      impl_->run([&](quorum::Client& client, Instant now, Transport& out) { client.get(now, key, out); });
  if (!result) return result.status();
  Versions versions;
  for (const Bytes& value : result->values) versions.values.emplace_back(value.text());
  versions.context = context_text(key, result->context);
  return versions;
}

Status QuorumClient::put(Key key, std::string_view value, std::string_view context) {
  if (value.size() > kVersionedValueBytesMax) {
    return {Code::kUsage, fmt::format("the value of key {} has {} bytes, expected at most {}", key,
                                      value.size(), kVersionedValueBytesMax)};
  }
  const auto seen = parse_context(context, key, impl_->nodes());
  if (!seen) return seen.status();
  return impl_
      ->run([&](quorum::Client& client, Instant now, Transport& out) {
        client.put(now, key, *seen, Bytes::of(value), out);
      })
      .status();
}

Result<std::vector<QuorumNodeStatus>> quorum_status(const QuorumClientOptions& options) {
  if (Status status = check_ring_client(options); !status.ok()) return status;
  const auto secret = ring_secret(options.ring, false);
  if (!secret) return secret.status();
  quorum::StandingQuery query(static_cast<std::uint32_t>(options.ring.nodes.size()), kStandingAskedEvery);
  RingCaller caller(options.ring, *secret, query);
  if (Status status = caller.introduce(); !status.ok()) return status;
  caller.driver().run_until([&] { return query.finished(); }, caller.driver().now() + options.deadline);
  if (query.answers().empty()) {
    return Status{Code::kTimeout, fmt::format("no answer from any of the ring's {} nodes in {:.1f} s{}{}",
                                              options.ring.nodes.size(),
                                              std::chrono::duration<double>(options.deadline).count(),
                                              caller.complaint().empty() ? "" : "; ", caller.complaint())};
  }
  std::vector<QuorumNodeStatus> nodes;
  for (std::uint32_t number = 0; number < options.ring.nodes.size(); ++number) {
    QuorumNodeStatus& node = nodes.emplace_back();
    node.number = number;
    node.address = options.ring.nodes[number];
    const auto found = query.answers().find(number);
    if (found == query.answers().end()) {
      node.why = caller.why_not(number);
      continue;
    }
    const quorum::Standing& told = found->second;
    node.answers = true;
    node.ring = query.rings().at(number);
    node.replicas = told.replicas, node.read = told.read, node.write = told.write;
    node.sloppy = told.sloppy;
    node.as_named =
        node.ring == ring_cluster(options.ring, node.replicas, node.read, node.write, node.sloppy);
    node.complete = told.complete;
    node.keys = told.keys, node.bytes = told.bytes, node.hints = told.hints, node.open = told.open;
    node.silent = told.silent;
    node.puts = told.counts.puts, node.gets = told.counts.gets;
    node.failed = told.counts.failed, node.refused = told.counts.refused;
    node.hints_kept = told.counts.hints_kept, node.hints_delivered = told.counts.hints_delivered;
    node.repaired = told.counts.repairs, node.synced = told.counts.synced;
    node.restored = told.counts.restored;
  }
  return nodes;
}

}  // namespace thalweg
