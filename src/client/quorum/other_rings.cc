#include "client/quorum/other_rings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/frame.h"
#include "base/hash/hash.h"
#include "quorum/limits.h"

namespace thalweg {
namespace {

constexpr const char* kSame =
    "; all nodes of a ring are to be told the same nodes, in the same order, and the same counts";

bool is_stray(const TcpEvent& event) {
  return event.reason.cause == TcpCause::kCluster || event.reason.cause == TcpCause::kPlace;
}

}  // namespace

std::string ring_words(const QuorumRing& ring, std::uint32_t replicas, std::uint32_t read,
                       std::uint32_t write, bool sloppy) {
  std::string words = fmt::format("N,R,W {},{},{}{} of ", replicas, read, write, sloppy ? " sloppy" : "");
  for (const std::string& node : ring.nodes) words += (&node == &ring.nodes.front() ? "" : ",") + node;
  return words;
}

std::uint64_t ring_cluster(const QuorumRing& ring, std::uint32_t replicas, std::uint32_t read,
                           std::uint32_t write, bool sloppy) {
  std::string told = fmt::format("{} {} {} {}", replicas, read, write, sloppy);
  for (const std::string& node : ring.nodes) told += "\n" + node;
  return hash64(told.data(), told.size()) | 1;
}

std::string OtherRings::line_of(Instant now, const TcpEvent& event) {
  if (is_stray(event) && event.more > 0) return "";
  if (!is_stray(event) || !event.peer || event.peer->role != Role::kServer) return log_line(event);
  const std::uint32_t number = std::min(event.peer->index, quorum::kRingServersMax);
  const bool of_other = event.reason.cause == TcpCause::kCluster;  // The same news, whoever calls.
  const std::string& news = of_other ? event.reason.told : event.reason.why;
  const auto [said, first] = said_.try_emplace({number, of_other ? TcpEvent::Kind::kClosed : event.kind});
  if (!first && said->second.news == news && now - said->second.at < kSaidEvery) return "";
  said->second = {news, now};
  if (!of_other) return to_text(event) + kSame;
  const std::string where = number < nodes_.size() ? " at " + nodes_[number] : "";
  return fmt::format("{}{} was told another ring: {}; this node: {}{}", node_name(*event.peer), where, news,
                     told_, kSame);
}

}  // namespace thalweg
