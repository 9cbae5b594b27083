#include "net/group/group_connector.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "net/group/group_call.h"
#include "net/live_fabric.h"
#include "net/socket/address.h"
#include "net/socket/secret_file.h"
#include "net/socket/socket_options.h"

namespace thalweg {
namespace {

// On loopback nothing is gained by letting buffers grow with a round trip's bytes: 2 MiB hold what is under
// way, and 4 ranks on 2 cores sum 4 MB at 2.4 GB/s instead of 2.2.
constexpr int kLoopbackBufferBytes = 2 << 20;
// A program may run out of descriptors for a moment. For longer, its peers would be blamed for what it lacks.
constexpr Duration kShortageMax = std::chrono::seconds(3);

std::array<std::uint64_t, 2> draw_call() {
  std::array<std::uint64_t, 2> call{};
  const Handshake::Nonce nonce = draw_nonce();
  static_assert(sizeof call == sizeof nonce);
  std::memcpy(call.data(), nonce.data(), sizeof call);
  return call;
}

}  // namespace

void GroupConnector::prepare(int stream) const {
  int bytes = options_.socket_buffer_bytes;
  if (bytes == 0 && is_loopback(local_address(stream))) bytes = kLoopbackBufferBytes;
  if (bytes > 0) set_buffers(stream, bytes);
}

std::string GroupConnector::name_of(std::uint32_t rank) const {
  const Member& member = table_.members[rank];
  return fmt::format("rank {} (process {} at {}:{})", rank, member.pid, member.host, member.port);
}

Result<bool> GroupConnector::shares_memory(std::uint32_t peer) const {
  const Member& mine = table_.members[rank_];
  const Member& theirs = table_.members[peer];
  if (options_.transport == GroupTransport::kTcp || options_.transport == GroupTransport::kUcx) return false;
  std::string why;
  if (!is_local(peer)) {
    why = "they are on different machines or in different network namespaces";
  } else if (mine.uid != theirs.uid) {
    why = fmt::format("they belong to different users, {} and {}", mine.uid, theirs.uid);
  } else if (mine.local_name.empty() || theirs.local_name.empty()) {
    why = "one of them does not offer it";
  }
  if (why.empty() || options_.transport == GroupTransport::kAuto) return why.empty();
  return Status(Code::kUsage,
                fmt::format("{} and {} cannot share memory: {}", name_of(rank_), name_of(peer), why));
}

bool GroupConnector::is_local(std::uint32_t peer) const {
  const std::string& here = table_.members[rank_].machine;
  return !here.empty() && here == table_.members[peer].machine;
}

// A rank that is to use TCP alone has no local name. Nobody has measured routes over UCX.
std::vector<RankPlace> GroupConnector::places() const {
  std::vector<RankPlace> places(size());
  std::map<std::string, std::uint32_t> machines;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> memories;
  std::map<std::uint32_t, std::pair<cpu_set_t, std::uint32_t>> cores;  // And ranks, by machine.
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    const Member& member = table_.members[rank];
    RankPlace& place = places[rank] = {rank, rank, 1};
    if (!member.machine.empty()) place.machine = machines.try_emplace(member.machine, rank).first->second;
    if (!member.machine.empty() && !member.local_name.empty()) {
      place.memory = memories.try_emplace({member.machine, member.uid}, rank).first->second;
    }
    auto& [all, ranks] = cores.try_emplace(place.machine).first->second;
    cpu_set_t its{};
    if (member.cores.size() == sizeof its) std::memcpy(&its, member.cores.data(), sizeof its);
    CPU_OR(&all, &all, &its);
    ++ranks;
  }
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    RankPlace& place = places[rank];
    const auto& [all, ranks] = cores.at(place.machine);
    const auto known = static_cast<std::uint32_t>(CPU_COUNT(&all));
    place.cores = known > 0 ? known : ranks;
    place.costs = table_.members[place.machine].costs;
    place.measured_routes = table_.members[rank].over_ucx ? 0 : table_.members[rank].measured_routes;
  }
  return places;
}

bool GroupConnector::is_crowded() const {
  const std::vector<RankPlace> all = places();
  const auto here = [&](const RankPlace& place) { return place.machine == all[rank_].machine; };
  return std::count_if(all.begin(), all.end(), here) > all[rank_].cores;
}

Result<RankConnection> GroupConnector::call(std::uint32_t peer, Opening::Kind kind, std::uint16_t channel,
                                            Instant deadline) {
  const Member& member = table_.members[peer];
  const auto failed = [&](const Status& why) {
    return Status(Code::kPeerLost, fmt::format("{} cannot be reached: {}", name_of(peer), why.message()));
  };
  Result<FileDescriptor> socket = Status(Code::kIo, "no address");
  if (kind == Opening::Kind::kLocal) {
    socket = dial_locally(member.local_name, deadline);
  } else {
    const auto addresses = resolve(member.host, member.port, deadline);
    if (!addresses) return failed(addresses.status());
    socket = dial(addresses->front(), deadline);
  }
  if (!socket) return failed(socket.status());
  const Opening opening{kind, rank_, peer, channel, 0, table_.nonce, draw_call()};
  const Secret& secret = acceptor_->secret();
  if (Status sent = send_all(socket->get(), prove_opening(secret, opening), deadline); !sent.ok())
    return failed(sent);
  if (kind == Opening::Kind::kStream) prepare(socket->get());
  return RankConnection{*std::move(socket), false, answer_to(secret, opening)};
}

Result<RankConnection> GroupConnector::accept(std::uint32_t peer, Opening::Kind kind, std::uint16_t channel) {
  acceptor_->look(live_now());
  Opening expected{kind, peer, rank_, channel, 0, table_.nonce, {}};
  auto caller = acceptor_->take([&expected](const auto& any) {
    expected.call = any.opening.call;
    return any.opening == expected;
  });
  const Status shortage = acceptor_->shortage(kShortageMax);
  if (!caller && !shortage.ok()) return shortage;
  if (!caller) return RankConnection();
  if (kind == Opening::Kind::kStream) prepare(caller->socket.get());
  return RankConnection{std::move(caller->socket), true, answer_to(acceptor_->secret(), caller->opening)};
}

Result<RankConnection> GroupConnector::connect(std::uint32_t peer, Opening::Kind kind, Instant deadline,
                                               int lifeline) {
  if (calls(peer)) return call(peer, kind, 0, deadline);
  for (;;) {
    Result<RankConnection> connection = accept(peer, kind, 0);
    if (!connection || *connection) return connection;
    if (live_now() >= deadline && !acceptor_->shortage().ok()) return acceptor_->shortage();
    if (live_now() >= deadline) return Status(Code::kTimeout, name_of(peer) + " did not connect in time");
    std::vector<pollfd> watched{{lifeline, POLLRDHUP, 0}};
    const Instant look_again = acceptor_->watch(watched);
    sleep_on(watched, std::min(deadline, look_again));
    if (watched[0].revents != 0) return left(peer);  // It waits for this rank's answer there.
  }
}

Status GroupConnector::left(std::uint32_t peer) const {
  return {Code::kPeerLost, name_of(peer) + " left while the group formed"};
}

Status GroupConnector::settle(const RankConnection& connection, std::uint32_t peer, Instant deadline) const {
  Proof said{};
  const Status moved = connection.was_called ? send_all(connection.socket.get(), connection.answer, deadline)
                                             : receive_all(connection.socket.get(), said, deadline);
  if (moved.code() == Code::kPeerLost) return left(peer);
  if (!moved.ok())
    return {moved.code(),
            name_of(peer) + " did not answer in time; or it waits for another rank that did not"};
  if (connection.was_called || same_proof(said, connection.answer)) return {};
  return {Code::kRefused, "who answers for " + name_of(peer) + " does not know the secret of this group"};
}

}  // namespace thalweg
