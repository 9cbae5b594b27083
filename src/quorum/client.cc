#include "quorum/client.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/planted.h"
#include "quorum/limits.h"

namespace thalweg::quorum {

Client::Client(ClientOptions options)
    : options_(std::move(options)),
      ring_(options_.servers),
      replicas_(options_.replicas),
      ring_epoch_(options_.ring_epoch),
      next_number_((std::uint64_t{options_.boot} << 32) + 1) {
  THALWEG_CHECK(!options_.servers.empty() && replicas_ > 0, "somebody is asked");
}

void Client::get(Instant now, Key key, Transport& out) {
  asked_ = {};
  asked_.kind = Kind::kGet;
  asked_.key = key;
  begin(now, out);
}

void Client::put(Instant now, Key key, const VectorClock& context, Bytes value, Transport& out) {
  THALWEG_CHECK(value.size() <= kValueBytesMax, "a value above the limit is never put");
  asked_ = {};
  asked_.kind = Kind::kPut;
  asked_.key = key;
  asked_.context = context;
  asked_.value = std::move(value);
  asked_.end = next_number_;
  begin(now, out);
}

void Client::begin(Instant now, Transport& out) {
  THALWEG_CHECK(!open_, "one request at a time");
  open_ = true;
  result_.reset();
  so_far_ = {};
  last_ = told_ = {};
  silent_.clear();
  turn_ = 0;
  deadline_ = now + options_.deadline;
  send_next(now, out);
}

void Client::send_next(Instant now, Transport& out) {
  server_ = server_node(next_home(now));
  asked_.number = next_number_++;
  if (THALWEG_BUG(kTriesApart) && asked_.kind == Kind::kPut) asked_.end = asked_.number;
  asked_.index = ring_epoch_;
  ++so_far_.tries;
  waits_ = true;
  again_at_ = now + options_.try_timeout;
  out.send(server_, frame_of(asked_));
}

std::uint32_t Client::next_home(Instant now) const {
  auto homes = ring_.preference(place(asked_.key), replicas_);
  const auto away_until = [&](std::uint32_t home) {
    const auto away = away_until_.find(home);
    const bool is_away = away != away_until_.end() && (away->second > now || silent_.contains(home));
    return is_away ? away->second : Instant{0};
  };
  std::ranges::stable_sort(homes, {}, away_until);  // Of silent ones that first which was asked longest ago.
  return homes[turn_ % homes.size()];
}

void Client::pass_over(Instant now) {
  silent_.insert(server_.index);
  away_until_[server_.index] = now + options_.away_for;
}

void Client::try_later(Instant now, const Status& why) {
  last_ = why;
  waits_ = false;
  again_at_ = now + options_.retry_after;
}

void Client::take_ring(Instant now, const Message& ring, Transport& out) {
  const bool sound = ring.server > 0 && !ring.digests.empty() && ring.digests.size() <= kRingServersMax &&
                     std::ranges::all_of(ring.digests, [](const auto& one) { return one.first < ~0u; });
  if (!sound || ring.index <= ring_epoch_) {
    ++turn_;
    return try_later(now,
                     {Code::kStale, fmt::format("{} is no home of key {} on its ring of epoch {}, ours "
                                                "is of {}",
                                                node_name(server_), asked_.key, ring.index, ring_epoch_)});
  }
  HashRing told;
  for (const auto& [server, unused] : ring.digests) {
    const auto number = static_cast<std::uint32_t>(server);
    if (!told.has(number)) told.add(number);
  }
  if (options_.all_named && told.servers() != ring_.servers()) {
    return end(
        {Code::kUsage, fmt::format("the ring has {} nodes, {} were named; expected all of them, in the "
                                   "order that the nodes know",
                                   told.servers().size(), ring_.servers().size())});
  }
  ring_ = std::move(told);
  replicas_ = ring.server;
  ring_epoch_ = ring.index;
  ++so_far_.refreshes;
  turn_ = 0;
  send_next(now, out);
}

void Client::on_frame(Instant now, NodeId from, Frame frame, Transport& out) {
  away_until_.erase(from.index);
  if (!busy() || frame.head.op != Op::kVersioned || from != server_) return;
  if (frame.head.code != Code::kOk) {
    const auto failure = decode_failure(frame);
    if (!failure || failure->number != asked_.number || !waits_) return;
    if (failure->why.code() == Code::kRefused) return end(failure->why);
    told_ = failure->why;
    silent_.erase(from.index);
    ++turn_;
    return try_later(now, failure->why);
  }
  auto message = decode_message(frame.first);
  if (!message || message->number != asked_.number || !waits_) return;
  if (message->kind == Kind::kRing) return take_ring(now, *message, out);
  if (message->kind != (asked_.kind == Kind::kPut ? Kind::kPutDone : Kind::kGot)) return;
  if (message->key != asked_.key) return;
  so_far_.context = message->context;
  for (const KeyedRecord& one : message->records) {
    for (const Version* version : one.record.puts()) so_far_.values.push_back(version->value);
  }
  end(ok_status());
}

void Client::on_time(Instant now, Transport& out) {
  if (!busy() || now < next_deadline()) return;
  if (now >= deadline_) {
    if (waits_) silent_.insert(server_.index);
    return end({Code::kTimeout, fmt::format("{} of key {} was tried {} times in {} ms, at last: {}",
                                            kind_name(asked_.kind), asked_.key, so_far_.tries,
                                            options_.deadline / std::chrono::milliseconds(1), trouble())});
  }
  if (waits_) {
    pass_over(now);
    return try_later(now, {Code::kTimeout, node_name(server_) + " did not answer"});
  }
  send_next(now, out);
}

// What a server has told says more than that another one is silent.
std::string Client::trouble() const {
  if (!told_.ok()) return told_.message();
  std::string names;
  for (const std::uint32_t server : silent_)
    names += (names.empty() ? "" : ", ") + node_name(server_node(server));
  if (!names.empty()) return names + " did not answer";
  return last_.message();
}

Instant Client::next_deadline() const { return busy() ? std::min(deadline_, again_at_) : kNever; }

void Client::on_peer_lost(Instant now, NodeId peer, Transport&) {
  if (!busy() || !waits_ || peer != server_) return;
  pass_over(now);
  try_later(now, {Code::kPeerLost, node_name(peer) + " is lost"});
}

void Client::end(Status status) {
  so_far_.status = std::move(status);
  result_ = std::move(so_far_);
}

std::optional<ClientResult> Client::take_result() {
  if (!result_) return std::nullopt;
  open_ = false;
  return std::exchange(result_, std::nullopt);
}

}  // namespace thalweg::quorum
