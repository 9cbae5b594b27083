#include "client/quorum/ring_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <random>

#include "net/socket/address.h"
#include "net/socket/secret_file.h"
#include "net/tcp/tcp_spin.h"
#include "quorum/limits.h"

namespace thalweg {
namespace {

constexpr std::size_t kRingQueueBytesMax = std::size_t{32} << 20;     // To one node.
constexpr std::size_t kClientAnswersBytesMax = std::size_t{1} << 20;  // Above it, a client is not heard.

Status bad_context(std::string_view text, std::string_view why) {
  return {Code::kUsage,
          fmt::format("context '{}': {}; expected what a get of the same key has given, such as "
                      "7/0.5f3a2b1c:3,2.91d01c77:1",
                      text.substr(0, 80), why)};
}

template <class Number>
std::optional<Number> number_in(std::string_view text, int base) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Status check(const QuorumRing& ring) {
  if (ring.nodes.empty()) return {Code::kUsage, "the ring has no nodes; expected the address of each"};
  if (ring.nodes.size() > quorum::kRingServersMax) {
    return {Code::kUsage, fmt::format("the ring has {} nodes, expected at most {}", ring.nodes.size(),
                                      quorum::kRingServersMax)};
  }
  std::vector<std::string> sorted = ring.nodes;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) return {Code::kUsage, fmt::format("the ring has the node {} twice", *twice)};
  for (const std::string& node : ring.nodes) {
    const auto address = parse_host_port(node);
    if (!address) return address.status();
    if (address->port == "0") {
      return {Code::kUsage,
              fmt::format("the ring's node {} has port 0; expected the port that it listens on", node)};
    }
  }
  return ok_status();
}

Status check_times(std::span<const RingTime> times, Duration most) {
  for (const auto& [what, time] : times) {
    if (time > Duration{0} && time <= most) continue;
    return {Code::kUsage, fmt::format("{} is {} ns, expected more than 0 and at most {} h", what,
                                      time.count(), most / std::chrono::hours(1))};
  }
  return ok_status();
}

Result<Secret> ring_secret(const QuorumRing& ring, bool is_node) {
  if (ring.secret) return *ring.secret;
  if (!ring.secret_file.empty()) {
    return is_node ? read_or_make_secret(ring.secret_file) : read_secret(ring.secret_file);
  }
  if (ring.insecure_no_auth) return Secret{};
  return secret_of_user();
}

TcpOptions ring_tcp(const QuorumRing& ring, const Secret& secret) {
  TcpOptions tcp;
  tcp.spin = tcp_spin();
  tcp.secret = secret;
  tcp.insecure_no_auth = ring.insecure_no_auth;
  tcp.unmet_is_lost = true;
  tcp.workers_are_clients = true;
  tcp.send_queue_bytes_max = kRingQueueBytesMax;
  tcp.answer_bytes_high = kClientAnswersBytesMax;
  return tcp;
}

std::uint32_t drawn_number() {
  std::random_device device;
  return std::max(device() >> 1, 1u);
}

std::string context_text(Key key, const VectorClock& clock) {
  std::string text;
  for (const auto& [actor, count] : clock.entries()) {
    text += text.empty() ? fmt::format("{}/", key) : ",";
    text += fmt::format("{}.{:x}:{}", actor & 0xffffffff, actor >> 32, count);
  }
  return text;
}

Result<VectorClock> parse_context(std::string_view text, Key key, std::size_t nodes) {
  if (text.empty()) return VectorClock();
  const std::size_t slash = text.find('/');
  const auto of = slash == text.npos ? std::nullopt : number_in<Key>(text.substr(0, slash), 10);
  if (!of || slash + 1 == text.size()) return bad_context(text, "no KEY/NODE.LIFE:COUNT");
  if (*of != key) return bad_context(text, fmt::format("it is of key {}, and this put of key {}", *of, key));
  VectorClock::Entries entries;
  for (std::string_view rest = text.substr(slash + 1); !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view entry = rest.substr(0, comma);
    const std::size_t dot = entry.find('.');
    const std::size_t colon = entry.find(':');
    if (dot == entry.npos || colon == entry.npos || colon < dot)
      return bad_context(text, "no NODE.LIFE:COUNT");
    const auto node = number_in<std::uint32_t>(entry.substr(0, dot), 10);
    const auto life = number_in<std::uint32_t>(entry.substr(dot + 1, colon - dot - 1), 16);
    const auto count = number_in<std::uint64_t>(entry.substr(colon + 1), 10);
    if (!node || !life || !count || *count == 0) return bad_context(text, "a number is wrong");
    if (*node >= nodes)
      return bad_context(text, fmt::format("the ring has {} nodes, and no {}", nodes, *node));
    if (!entries.emplace(quorum::actor_of(*node, *life), *count).second)
      return bad_context(text, "a node is there twice");
    if (entries.size() > quorum::kClockEntriesMax) return bad_context(text, "too many entries");
    if (comma + 1 == rest.size()) return bad_context(text, "it ends with a comma");
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return VectorClock(std::move(entries));
}

Status with_addresses(const Status& status, const QuorumRing& ring) {
  std::string where;
  for (std::uint32_t number = 0; number < ring.nodes.size(); ++number) {
    const std::string name = node_name(server_node(number));
    const std::size_t at = status.message().find(name);
    if (at == std::string::npos) continue;
    const std::size_t behind = at + name.size();  // Of server-1, not of server-12.
    if (behind < status.message().size() && status.message()[behind] >= '0' &&
        status.message()[behind] <= '9')
      continue;
    where += fmt::format("{}{} is {}", where.empty() ? " (" : ", ", name, ring.nodes[number]);
  }
  if (where.empty()) return status;
  return {status.code(), status.message() + where + ")"};
}

}  // namespace thalweg
