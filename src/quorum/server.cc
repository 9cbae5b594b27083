#include "quorum/server.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/coverage/reached.h"
#include "base/hash/hash.h"
#include "base/planted.h"
#include "quorum/limits.h"

namespace thalweg::quorum {
namespace {

std::string incompleteness(std::uint32_t server) {
  return node_name(server_node(server)) + " is reading again what it has lost";
}

std::string names_of(const std::vector<std::uint32_t>& servers) {
  std::string out;
  for (const std::uint32_t server : servers)
    out += (out.empty() ? "" : ", ") + node_name(server_node(server));
  return out.empty() ? "nobody" : out;
}

// Numbers are a client's own.
PutName name_of_put(NodeId client, const Message& put) {
  const std::uint64_t parts[] = {client.index, put.end};
  return put.end == 0 ? 0 : std::max<PutName>(hash64(parts, sizeof parts), 1);
}

}  // namespace

Server::Server(ServerOptions options, VersionStore& store)
    : options_(options), store_(store), next_number_((std::uint64_t{options.boot} << 32) + 1) {
  const auto fits = [&](std::uint32_t count) { return count >= 1 && count <= store.replicas(); };
  THALWEG_CHECK(fits(options.read) && fits(options.write), "a quorum is of homes");
  for (const std::uint32_t server : store.ring().servers()) {
    if (server != store.self()) peers_.push_back(server);
  }
}

void Server::on_frame(Instant now, NodeId from, Frame frame, Transport& out) {
  expire(now, out);  // What comes too late is too late, however long this server stood still.
  if (frame.head.op != Op::kVersioned) return;
  if (from.role == Role::kServer) silent_.erase(from.index);
  if (frame.head.code != Code::kOk) {
    if (const auto failure = decode_failure(frame)) on_failure(from, *failure);
    return;
  }
  const auto message = decode_message(frame.first);
  if (!message) {
    ++counts_.refused;
    return out.send(from, failure_of(Kind::kGot, 0, {Code::kRefused, "this is no message about versions"}));
  }
  if (message->kind == Kind::kGet || message->kind == Kind::kPut) return on_client(now, from, *message, out);
  if (message->kind == Kind::kStanding) {
    Message reply;
    reply.kind = Kind::kStandingReply;
    reply.number = message->number;
    reply.value = encode(standing());
    return out.send(from, frame_of(reply));
  }
  if (from.role != Role::kServer || store_.tree(from.index) == nullptr) {
    ++counts_.refused;
    return out.send(from, failure_of(message->kind, message->number,
                                     {Code::kRefused, fmt::format("{} is for servers of this ring",
                                                                  kind_name(message->kind))}));
  }
  switch (message->kind) {
    case Kind::kRead:
      return on_read(from, *message, out);
    case Kind::kWrite:
    case Kind::kHandoff:
      return on_write(from, *message, out);
    case Kind::kReadReply:
    case Kind::kWriteReply:
      return on_answer(now, from, *message, out);
    case Kind::kHandoffReply:
      return on_handed_over(from.index, *message, out);
    case Kind::kCompare:
      return on_compare(from, *message, out);
    case Kind::kLeaf:
      return on_leaf(from, *message, out);
    case Kind::kSync:
      return on_sync(from, *message, out);
    case Kind::kScan:
      return on_scan(from, *message, out);
    case Kind::kPage:
      return on_page(from, *message, out);
    default:
      return;  // What servers tell clients.
  }
}

// Another server cannot do what it was asked; somebody else may.
void Server::on_failure(NodeId from, const Failure& failure) {
  const auto found = requests_.find(failure.number);
  if (found == requests_.end() || from.role != Role::kServer) return;
  Request& request = found->second;
  request.refusals[from.index] = failure.why.message();
  std::erase_if(request.stand_ins, [&](const auto& one) { return one.second == from.index; });
}

void Server::on_client(Instant now, NodeId from, const Message& asked, Transport& out) {
  const Kind answer = asked.kind == Kind::kPut ? Kind::kPutDone : Kind::kGot;
  const auto refuse = [&](Status why) {
    ++counts_.refused;
    out.send(from, failure_of(answer, asked.number, why));
  };
  if (asked.key == kReservedKey) return refuse({Code::kRefused, "the key 2^64-1 is reserved"});
  if (!store_.is_home(asked.key) || asked.index < options_.ring_epoch) {
    THALWEG_REACHED(kRedirected);
    ++counts_.redirected;
    Message ring;
    ring.kind = Kind::kRing;
    ring.number = asked.number;
    ring.index = options_.ring_epoch;
    ring.server = store_.replicas();
    for (const std::uint32_t server : store_.ring().servers()) ring.digests.emplace_back(server, 0);
    return out.send(from, frame_of(ring));
  }
  if (requests_.size() >= kRequestsOpenMax) {
    return refuse({Code::kRetry, fmt::format("{} has {} open requests, which is as many as it takes",
                                             node_name(server_node(store_.self())), requests_.size())});
  }
  if (asked.kind == Kind::kPut) {
    if (Status status = store_.put(asked.key, asked.context, asked.value, name_of_put(from, asked));
        !status.ok())
      return refuse(status);
  }
  begin(now, from, asked, out);
}

void Server::begin(Instant now, NodeId client, const Message& asked, Transport& out) {
  const std::uint64_t number = next_number_++;
  Request& request = requests_[number];
  request.put = asked.kind == Kind::kPut;
  ++(request.put ? counts_.puts : counts_.gets);
  request.key = asked.key;
  request.client = client;
  request.client_number = asked.number;
  request.deadline = now + options_.deadline;
  request.again_at = now + options_.patience;
  request.homes = store_.homes(asked.key);
  const Record* own = store_.find(asked.key);
  if (own != nullptr) request.record = *own;
  if (request.put || store_.complete()) request.answers[store_.self()] = request.record.digest(asked.key);
  ask_homes(number, request, out);
  for (const std::uint32_t home : request.homes) {
    if (silent_.contains(home)) {
      find_stand_ins(number, request, out);
      break;
    }
  }
  if (settle(request, out)) requests_.erase(number);
}

void Server::ask(std::uint64_t number, Request& request, std::uint32_t server, std::uint32_t target,
                 Transport& out) {
  Message message;
  message.kind = request.put ? Kind::kWrite : Kind::kRead;
  message.number = number;
  message.key = request.key;
  message.server = target;
  if (request.put) message.records.push_back({request.key, request.record});
  out.send(server_node(server), frame_of(message));
}

void Server::ask_homes(std::uint64_t number, Request& request, Transport& out) {
  for (const std::uint32_t home : request.homes) {
    if (home != store_.self() && !request.answers.contains(home)) ask(number, request, home, home, out);
  }
}

// The next servers on the ring that are not silent stand in for silent homes; of puts, this one where there
// are none.
void Server::find_stand_ins(std::uint64_t number, Request& request, Transport& out) {
  const auto all = store_.ring().preference(place(request.key), store_.ring().servers().size());
  std::set<std::uint32_t> used(request.homes.begin(), request.homes.end());
  for (const auto& [home, stand_in] : request.stand_ins) used.insert(stand_in);
  for (const std::uint32_t home : request.homes) {
    if (!silent_.contains(home) || request.answers.contains(home) || request.stood_in.contains(home))
      continue;
    const auto asked = request.stand_ins.find(home);
    if (asked != request.stand_ins.end() && !silent_.contains(asked->second)) {
      ask(number, request, asked->second, home, out);
      continue;
    }
    const auto found = std::ranges::find_if(
        all, [&](std::uint32_t server) { return !used.contains(server) && !silent_.contains(server); });
    if (found != all.end()) {
      THALWEG_REACHED(kStandInAsked);
      request.stand_ins[home] = *found;
      used.insert(*found);
      ask(number, request, *found, home, out);
    } else if (request.put) {
      keep_hint(request, home);
    }
  }
}

void Server::keep_hint(Request& request, std::uint32_t home) {
  if (!store_.keep_hint(home, request.key, request.record)) return;
  THALWEG_REACHED(kHintKept);
  if (request.kept.insert(home).second) ++counts_.hints_kept;
}

void Server::on_read(NodeId from, const Message& asked, Transport& out) {
  Message reply;
  reply.kind = Kind::kReadReply;
  reply.number = asked.number;
  reply.key = asked.key;
  reply.server = asked.server;
  if (asked.server != store_.self()) {
    if (Record hinted = store_.hinted(asked.key); !hinted.empty())
      reply.records.push_back({asked.key, std::move(hinted)});
  } else if (!store_.is_home(asked.key)) {
    return out.send(
        from, failure_of(asked.kind, asked.number, {Code::kStale, "the servers' rings are not the same"}));
  } else if (!store_.complete() && !THALWEG_BUG(kReadsBeforeRestored)) {
    THALWEG_REACHED(kReadRefused);
    return out.send(from,
                    failure_of(asked.kind, asked.number, {Code::kRetry, incompleteness(store_.self())}));
  } else if (const Record* own = store_.find(asked.key)) {
    reply.records.push_back({asked.key, *own});
  }
  out.send(from, frame_of(reply));
}

void Server::on_write(NodeId from, const Message& asked, Transport& out) {
  if (asked.records.size() != 1 || asked.records[0].key != asked.key) return;
  const bool own = asked.server == store_.self();
  const Record& record = asked.records[0].record;
  if (const auto homes = store_.homes(asked.key); std::ranges::count(homes, asked.server) == 0) {
    return out.send(
        from, failure_of(asked.kind, asked.number, {Code::kStale, "the servers' rings are not the same"}));
  }
  if (own && !store_.takes(record)) {
    return out.send(from, failure_of(asked.kind, asked.number, {Code::kRetry, "no room for more versions"}));
  }
  if (own) {
    store_.merge(asked.key, record);
  } else if (store_.keep_hint(asked.server, asked.key, record)) {
    ++counts_.hints_kept;
  } else {
    return out.send(from, failure_of(asked.kind, asked.number, {Code::kRetry, "no room for more hints"}));
  }
  Message reply;
  reply.kind = asked.kind == Kind::kHandoff ? Kind::kHandoffReply : Kind::kWriteReply;
  reply.number = asked.number;
  reply.key = asked.key;
  reply.server = asked.server;
  out.send(from, frame_of(reply));
}

void Server::on_answer(Instant, NodeId from, const Message& answer, Transport& out) {
  const auto found = requests_.find(answer.number);
  if (found == requests_.end()) return;
  Request& request = found->second;
  const bool write = answer.kind == Kind::kWriteReply;
  if (write != request.put || answer.key != request.key || answer.records.size() > 1) return;
  if (!answer.records.empty() && answer.records[0].key != request.key) return;
  if (std::ranges::count(request.homes, answer.server) == 0) return;
  const Record theirs = answer.records.empty() ? Record() : answer.records[0].record;
  if (answer.server == from.index) {
    request.answers[from.index] = write ? request.record.digest(request.key) : theirs.digest(request.key);
  } else {
    request.stood_in.insert(answer.server);
  }
  if (!write) request.record.merge(theirs);
  if (settle(request, out)) requests_.erase(found);
}

std::size_t Server::heard(const Request& request) const {
  if (THALWEG_BUG(kHintsCounted)) return request.answers.size() + request.stood_in.size();
  std::size_t count = request.answers.size();
  if (!options_.sloppy) return count;
  for (const std::uint32_t home : request.stood_in) count += request.answers.contains(home) ? 0 : 1;
  return count;
}

bool Server::settle(Request& request, Transport& out) {
  const std::uint32_t enough = THALWEG_BUG(kOneTooFew) ? std::max(needed(request), 2u) - 1 : needed(request);
  if (!request.answered && heard(request) >= enough) {
    request.answered = true;
    Message reply;
    reply.kind = request.put ? Kind::kPutDone : Kind::kGot;
    reply.number = request.client_number;
    reply.key = request.key;
    // A put's client has not seen the versions that stand beside its own.
    if (!request.put) reply.context = request.record.clock();
    if (!request.put) reply.records.push_back({request.key, request.record});
    out.send(request.client, frame_of(reply));
  }
  // A silent home gets what it misses by a hint, or by comparing: requests that wait for one would be as
  // many as there may be.
  const bool all = std::ranges::all_of(request.homes, [&](std::uint32_t home) {
    if (request.answers.contains(home)) return true;
    return request.put ? request.stood_in.contains(home) || request.kept.contains(home)
                       : silent_.contains(home);
  });
  if (!all || !request.answered) return false;
  repair(request, out);
  return true;
}

// Homes that answered with less than there is get the rest.
void Server::repair(const Request& request, Transport& out) {
  if (request.put || request.record.empty()) return;
  const std::uint64_t whole = request.record.digest(request.key);
  for (const auto& [home, digest] : request.answers) {
    if (digest == whole) continue;
    THALWEG_REACHED(kReadRepaired);
    ++counts_.repairs;
    if (home == store_.self()) {
      store_.merge(request.key, request.record);
      continue;
    }
    Message message;
    message.kind = Kind::kSync;
    message.records.push_back({request.key, request.record});
    out.send(server_node(home), frame_of(message));
  }
}

Status Server::timeout(const Request& request) const {
  std::vector<std::uint32_t> answered, silent;
  std::string refusals;
  for (const std::uint32_t home : request.homes) {
    const auto refused = request.refusals.find(home);
    if (request.answers.contains(home)) {
      answered.push_back(home);
    } else if (home == store_.self()) {
      refusals += "; " + incompleteness(home);
    } else if (refused != request.refusals.end()) {
      refusals += "; " + refused->second;
    } else {
      silent.push_back(home);
    }
  }
  return {Code::kTimeout,
          fmt::format("{} of key {}: {} of the {} servers that it needs answered within {} ms: {}{}{}{}",
                      request.put ? "put" : "get", request.key, heard(request), needed(request),
                      options_.deadline / std::chrono::milliseconds(1), names_of(answered),
                      silent.empty() ? "" : "; no answer from ", silent.empty() ? "" : names_of(silent),
                      refusals)};
}

void Server::give_up(Request& request, Transport& out) {
  if (!request.answered) {
    THALWEG_REACHED(kQuorumMissed);
    ++counts_.failed;
    out.send(request.client,
             failure_of(request.put ? Kind::kPutDone : Kind::kGot, request.client_number, timeout(request)));
  }
  if (!request.put) return repair(request, out);
  for (const std::uint32_t home : request.homes) {
    if (!request.answers.contains(home) && !request.stood_in.contains(home)) keep_hint(request, home);
  }
}

void Server::expire(Instant now, Transport& out) {
  for (auto it = requests_.begin(); it != requests_.end();) {
    Request& request = it->second;
    if (now >= request.deadline) {
      give_up(request, out);
      it = requests_.erase(it);
      continue;
    }
    if (now >= request.again_at) {
      request.again_at = now + options_.patience;
      for (const std::uint32_t home : request.homes) {
        if (!request.answers.contains(home) && home != store_.self()) silent_.insert(home);
      }
      for (const auto& [home, stand_in] : request.stand_ins) {
        if (!request.stood_in.contains(home)) silent_.insert(stand_in);
      }
      ask_homes(it->first, request, out);
      find_stand_ins(it->first, request, out);
      if (settle(request, out)) {
        it = requests_.erase(it);
        continue;
      }
    }
    ++it;
  }
}

void Server::on_time(Instant now, Transport& out) {
  expire(now, out);
  if (!started_) {
    started_ = true;
    if (!store_.complete()) {
      // Until then a coordinator may count what this server said before it lost all.
      restore_from_ = now + 2 * options_.deadline;
      for (const std::uint32_t peer : peers_) restores_[peer];
    }
    background_at_ = now;
  }
  if (now < background_at_) return;
  background_at_ = now + options_.compare_every;
  background(now, out);
}

Instant Server::next_deadline() const {
  Instant next = started_ ? background_at_ : Instant{0};
  for (const auto& [number, request] : requests_) next = std::min({next, request.deadline, request.again_at});
  return next;
}

Standing Server::standing() const {
  Standing standing;
  standing.server = store_.self();
  standing.servers = static_cast<std::uint32_t>(store_.ring().servers().size());
  standing.replicas = store_.replicas();
  standing.read = options_.read;
  standing.write = options_.write;
  standing.sloppy = options_.sloppy;
  standing.complete = store_.complete();
  standing.keys = store_.records().size();
  standing.bytes = store_.bytes();
  standing.hints = store_.hints().size();
  standing.open = requests_.size();
  standing.silent.assign(silent_.begin(), silent_.end());
  standing.counts = counts_;
  return standing;
}

void Server::on_peer_lost(Instant, NodeId peer, Transport&) {
  if (peer.role == Role::kServer && store_.tree(peer.index) != nullptr) silent_.insert(peer.index);
}

}  // namespace thalweg::quorum
