#include "net/group/process_group.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "net/group/group_call.h"
#include "net/group/tcp_streams.h"
#include "net/socket/address.h"
#include "net/socket/event_fd.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

// A connection that the peer can accept at any time is made within this time or not at all.
constexpr Duration kDialTimeout = 5s;

}  // namespace

ProcessGroup::ProcessGroup(const GroupOptions& options, GroupConnector connector, FileDescriptor wake_fd)
    : GroupFabric(connector.size(), connector.is_crowded(), options.spin, std::move(wake_fd)),
      options_(options),
      connector_(std::move(connector)) {}

ProcessGroup::~ProcessGroup() {
  if (ucx_ && control_ && !control_->failed()) {
    ucx_->leave(live_now() + options_.timeout,
                [this](std::uint32_t peer) { return control_->is_gone(peer); });
  }
  control_.reset();  // The goodbye goes before the streams end.
  ucx_.reset();      // It tells streams of their end.
  drop_streams();    // Before the memory that they share.
}

Result<std::unique_ptr<ProcessGroup>> ProcessGroup::connect(const GroupOptions& options, Meeting meeting,
                                                            std::shared_ptr<GroupAcceptor> acceptor,
                                                            Instant deadline) {
  acceptor->belong_to(meeting.table.nonce);
  GroupConnector connector(options, std::move(meeting), std::move(acceptor));
  Result<FileDescriptor> wake_fd = make_event_fd();
  if (!wake_fd) return wake_fd.status();
  std::unique_ptr<ProcessGroup> group(new ProcessGroup(options, std::move(connector), *std::move(wake_fd)));
  if (Status connected = group->connect_all(deadline); !connected.ok()) return connected;
  return group;
}

// Calls go out before any is waited for: lower ranks first, who wait for higher ones only. A lower rank
// answers once it has all of a peer's calls, so that nobody is through with the group before.
Status ProcessGroup::connect_all(Instant deadline) {
  const bool over_ucx = options_.transport == GroupTransport::kUcx && size() > 1;
  std::vector<RankConnection> control(size()), local(size());
  for (std::uint32_t peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    Result<RankConnection> talk = connector_.connect(peer, Opening::Kind::kControl, deadline);
    if (!talk) return talk.status();
    control[peer] = *std::move(talk);
    if (!over_ucx) {
      if (Status begun = begin_streams(peer, control[peer], local[peer], deadline); !begun.ok()) return begun;
    }
    if (connector_.calls(peer)) continue;
    if (Status told = connector_.settle(control[peer], peer, deadline); !told.ok()) return told;
  }
  std::vector<FileDescriptor> sockets(size());
  for (std::uint32_t peer = 0; peer < size(); ++peer) {
    if (peer < rank()) {
      if (Status heard = connector_.settle(control[peer], peer, deadline); !heard.ok()) return heard;
    }
    sockets[peer] = std::move(control[peer].socket);
  }
  Status connected =
      over_ucx ? connect_over_ucx(sockets, deadline) : share_memory(std::move(local), deadline);
  if (!connected.ok()) return connected;
  Result<FileDescriptor> wake_fd = make_event_fd();
  if (!wake_fd) return wake_fd.status();
  control_ = std::make_unique<GroupControl>(rank(), std::move(sockets), *std::move(wake_fd),
                                            options_.patience, [this] { wake(); });
  return {};
}

Status ProcessGroup::begin_streams(std::uint32_t peer, const RankConnection& control, RankConnection& local,
                                   Instant deadline) {
  const Result<bool> shares = connector_.shares_memory(peer);
  if (!shares) return shares.status();
  const auto kind = *shares ? Opening::Kind::kLocal : Opening::Kind::kStream;
  Result<RankConnection> connection = connector_.connect(peer, kind, deadline, control.socket.get());
  if (!connection) return connection.status();
  if (*shares) {
    local = *std::move(connection);
  } else {
    set_streams(peer, tcp_streams(peer, *std::move(connection)), true);
  }
  return {};
}

Status ProcessGroup::share_memory(std::vector<RankConnection> connections, Instant deadline) {
  if (std::none_of(connections.begin(), connections.end(), [](const auto& one) { return bool{one}; }))
    return {};
  ShmOptions options;
  options.rank = rank();
  options.ranks = size();
  if (size() == 2) options.first_ring_bytes = kShmSlottedRingBytes;  // Short sums go by it.
  if (!options_.reads_memory) options.read_memory = nullptr;
  auto self = ShmSelf::create(std::move(options));
  if (!self) return self.status();
  shared_ = *std::move(self);
  share(*shared_);
  for (std::uint32_t peer = 0; peer < size(); ++peer) {
    if (!connections[peer]) continue;
    if (Status settled = connector_.settle(connections[peer], peer, deadline); !settled.ok()) return settled;
    const Duration left = std::max(deadline - live_now(), Duration::zero());
    auto streams = ShmPeer::meet(std::move(connections[peer].socket), *shared_, peer, left);
    if (!streams) return streams.status();
    set_streams(peer, *std::move(streams), false);
  }
  return {};
}

// Where each rank is, in UCX's words, the control connections tell before they serve their purpose.
Status ProcessGroup::connect_over_ucx(const std::vector<FileDescriptor>& control, Instant deadline) {
  auto opened = UcxGroup::open(rank(), size(), is_loopback(connector_.acceptor()->address()));
  if (!opened) return opened.status();
  ucx_ = *std::move(opened);
  const Result<std::vector<std::byte>> own = ucx_->address();
  if (!own) return own.status();
  const auto own_bytes = static_cast<std::uint32_t>(own->size());
  for (const FileDescriptor& socket : control) {
    if (!socket) continue;
    // A peer that is lost is missed below.
    if (!send_all(socket.get(), std::as_bytes(std::span(&own_bytes, 1)), deadline).ok()) continue;
    (void)send_all(socket.get(), *own, deadline);
  }
  for (std::uint32_t peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    const std::string name = connector_.name_of(peer);
    const auto failed = [&name](const Status& why) {
      return Status(why.code(), name + " does not say where UCX finds it: " + why.message());
    };
    std::uint32_t bytes = 0;
    const auto head = std::as_writable_bytes(std::span(&bytes, 1));
    if (Status got = receive_all(control[peer].get(), head, deadline); !got.ok()) return failed(got);
    if (bytes > UcxGroup::kAddressBytesMax) return failed({Code::kRefused, "its address is too long"});
    std::vector<std::byte> address(bytes);
    if (Status got = receive_all(control[peer].get(), address, deadline); !got.ok()) return failed(got);
    auto streams = ucx_->connect(peer, name, connector_.is_local(peer), address);
    if (!streams) return streams.status();
    set_streams(peer, *std::move(streams), false);
  }
  return ucx_->greet(deadline);
}

std::unique_ptr<PairStreams> ProcessGroup::tcp_streams(std::uint32_t peer, RankConnection first) {
  const auto open = [this, peer](std::uint16_t channel) -> Result<RankConnection> {
    if (connector_.calls(peer)) {
      if (!GroupFabric::peer_status(peer).ok()) return RankConnection();  // It takes no calls any more.
      return connector_.call(peer, Opening::Kind::kStream, channel, live_now() + kDialTimeout);
    }
    Result<RankConnection> connection = connector_.accept(peer, Opening::Kind::kStream, channel);
    awaits_callers_ = awaits_callers_ || (connection && !*connection);
    return connection;
  };
  auto streams = std::make_unique<TcpStreams>(connector_.name_of(peer), open);
  streams->adopt(0, std::move(first));
  return streams;
}

Instant ProcessGroup::watch_others(std::vector<pollfd>& watched) {
  return std::exchange(awaits_callers_, false) ? connector_.acceptor()->watch(watched) : kNever;
}

bool ProcessGroup::any_lost() { return GroupFabric::any_lost() || control_->failed(); }

Status ProcessGroup::peer_status(std::uint32_t peer) {
  if (control_->failed()) {
    const Verdict verdict = control_->verdict();
    if (verdict.guilty == peer) return verdict.status;
  }
  return GroupFabric::peer_status(peer);
}

Result<std::unique_ptr<ProcessGroup>> ProcessGroup::regroup(Duration timeout) {
  if (control_->failed() && control_->verdict().guilty == rank()) {
    return Status(Code::kRefused,
                  "this rank was given up by the others: " + control_->verdict().status.message());
  }
  const std::vector<Member>& before = connector_.table().members;
  Venue venue;
  venue.anew = true;
  venue.nonce = connector_.table().nonce;
  venue.deadline = live_now() + timeout;
  venue.where = [&before](std::uint32_t leader) {
    return std::pair(before[leader].host, before[leader].port);
  };
  venue.news = [this](Rendezvous& rendezvous) {
    for (std::uint32_t peer = 0; peer < size(); ++peer) {
      if (control_->is_out(peer)) rendezvous.set_out(peer);
    }
    if (control_->was_left_out()) rendezvous.set_left_out();
  };
  connector_.acceptor()->belong_to(std::nullopt);
  Result<Meeting> meeting = meet(*connector_.acceptor(), before[rank()], venue);
  if (!meeting) return meeting.status();
  for (std::uint32_t peer = 0; peer < size(); ++peer) {
    const auto is = [&](const Member& member) { return is_same_process(member, before[peer]); };
    const std::vector<Member>& now = meeting->table.members;
    if (std::none_of(now.begin(), now.end(), is)) control_->leave_out(peer);
  }
  return connect(options_, *std::move(meeting), connector_.acceptor(), venue.deadline + kDialTimeout);
}

}  // namespace thalweg
