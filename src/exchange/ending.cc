#include "exchange/ending.h"

#include <fmt/format.h>

#include "base/planted.h"

namespace thalweg {

Advance advance_among(Exchange& exchange, Fabric& fabric, GroupNews& news) {
  for (;;) {
    const Status verdict = news.verdict();
    const std::uint32_t peer = exchange.waits_for();
    const Status lost = verdict.ok() ? news.peer_status(peer) : verdict;
    if (exchange.advance(fabric)) return {Advance::How::kOver};
    const bool others = exchange.waits_for() != peer || news.peer_status(peer).ok();
    if (lost.ok() || (verdict.ok() && others)) return {Advance::How::kWaits};
    return {Advance::How::kLost, peer, lost, !verdict.ok()};
  }
}

Status ended_for(const Exchange& exchange, const Status& why) {
  return {why.code(), fmt::format("{}: {}; in {}", exchange.name(), why.message(), exchange.waits_in())};
}

Status outcome_of(const Exchange& exchange, GroupNews& news, bool sending) {
  const bool sent = exchange.bytes_sent() > 0;
  if (THALWEG_BUG(kSendersUntold)) sending = false;
  if (!exchange.status().ok() || exchange.heard() || (sent && !sending)) return exchange.status();
  const Status verdict = news.verdict();
  if (verdict.ok()) return verdict;
  return {verdict.code(), fmt::format("{}: {}; this rank has no step in it{}", exchange.name(),
                                      verdict.message(), sent ? " that receives" : "")};
}

}  // namespace thalweg
