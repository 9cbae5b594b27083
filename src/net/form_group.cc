#include "net/form_group.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "net/address.h"
#include "net/group_call.h"
#include "net/group_door.h"
#include "net/group_fabric.h"
#include "net/rendezvous.h"
#include "net/socket_options.h"
#include "net/tcp_streams.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

// A connection that the peer can accept at any time is made within this time or not at all.
constexpr Duration kDialTimeout = 5s;

std::string name_of(const Member& member) {
  return fmt::format("rank {} (process {} at {}:{})", member.rank, member.pid, member.host, member.port);
}

// Whether the ranks on this rank's machine outnumber the cores that they may run on.
bool crowded(const GroupTable& table, const Member& self) {
  cpu_set_t all{};
  int ranks = 0;
  for (const Member& member : table.members) {
    if (member.machine != self.machine || member.cores.size() != sizeof all) continue;
    cpu_set_t its{};
    std::memcpy(&its, member.cores.data(), sizeof its);
    CPU_OR(&all, &all, &its);
    ++ranks;
  }
  return ranks > CPU_COUNT(&all);
}

class ProcessGroup final : public GroupFabric {
 public:
  ProcessGroup(const GroupOptions& options, Meeting meeting, std::unique_ptr<GroupDoor> door)
      : GroupFabric(
            static_cast<std::uint32_t>(meeting.table.members.size()),
            crowded(meeting.table, meeting.table.members[meeting.rank]) ? Duration::zero() : options.spin),
        options_(options),
        table_(std::move(meeting.table)),
        rank_(meeting.rank),
        door_(std::move(door)) {}

  // Connects to all others; channel 0 is open then, others open when they are first used.
  Status connect(Instant deadline) {
    const auto size = static_cast<std::uint32_t>(table_.members.size());
    std::vector<FileDescriptor> sockets(size);
    for (std::uint32_t peer = 0; peer < rank_; ++peer) {
      Result<FileDescriptor> socket = call(peer, 0, deadline);
      if (!socket) return socket.status();
      sockets[peer] = *std::move(socket);
    }
    for (std::uint32_t peer = rank_ + 1; peer < size; ++peer) {
      while (!(sockets[peer] = accept(peer, 0))) {
        if (live_now() >= deadline) {
          return {Code::kTimeout, name_of(table_.members[peer]) + " did not connect in time"};
        }
        std::vector<pollfd> watched;
        door_->watch(watched);
        sleep_on(watched, deadline);
      }
    }
    for (std::uint32_t peer = 0; peer < size; ++peer) {
      if (peer != rank_) set_streams(peer, tcp_streams(peer, std::move(sockets[peer])));
    }
    return {};
  }

 private:
  std::unique_ptr<TcpStreams> tcp_streams(std::uint32_t peer, FileDescriptor first) {
    auto streams = std::make_unique<TcpStreams>(
        name_of(table_.members[peer]), [this, peer](std::uint16_t channel) -> Result<FileDescriptor> {
          if (peer < rank_) return call(peer, channel, live_now() + kDialTimeout);
          FileDescriptor socket = accept(peer, channel);
          awaits_callers_ = awaits_callers_ || !socket;
          return socket;
        });
    streams->adopt(0, std::move(first));
    return streams;
  }

  Result<FileDescriptor> call(std::uint32_t peer, std::uint16_t channel, Instant deadline) {
    const Member& member = table_.members[peer];
    const auto failed = [&member](const Status& why) {
      return Status(Code::kPeerLost, fmt::format("{} cannot be reached: {}", name_of(member), why.message()));
    };
    const auto addresses = resolve(member.host, member.port, deadline);
    if (!addresses) return failed(addresses.status());
    Result<FileDescriptor> socket = dial(addresses->front(), deadline);
    if (!socket) return failed(socket.status());
    Opening opening{Opening::Kind::kStream, rank_, peer, channel, 0, table_.nonce};
    const Status sent = send_all(socket->get(), encode_opening(opening).span(), deadline);
    if (!sent) return failed(sent);
    prepare(*socket);
    return socket;
  }

  FileDescriptor accept(std::uint32_t peer, std::uint16_t channel) {
    door_->look(live_now());
    const Opening expected{Opening::Kind::kStream, peer, rank_, channel, 0, table_.nonce};
    auto caller = door_->take([&expected](const auto& any) { return any.opening == expected; });
    if (!caller) return {};
    prepare(caller->socket);
    return std::move(caller->socket);
  }

  void prepare(const FileDescriptor& socket) const {
    if (options_.socket_buffer_bytes > 0) set_buffers(socket.get(), options_.socket_buffer_bytes);
  }

  void watch_others(std::vector<pollfd>& watched) override {
    if (std::exchange(awaits_callers_, false)) door_->watch(watched);
  }

  GroupOptions options_;
  GroupTable table_;
  std::uint32_t rank_;
  std::unique_ptr<GroupDoor> door_;
  bool awaits_callers_ = false;  // A channel was used that its peer has yet to open.
};

Result<Meeting> meet(const GroupOptions& options, Instant deadline, std::unique_ptr<GroupDoor>& door) {
  Member self = describe_this_process(options.rank, options.size, options.group);
  if (options.rank > 0) {
    return join({0, options.master_host, options.master_port, {}, deadline, options.insecure_no_auth}, self,
                door);
  }
  const auto addresses = resolve(options.master_host, options.master_port, deadline);
  if (!addresses) return addresses.status();
  Result<std::unique_ptr<GroupDoor>> made = GroupDoor::listen(addresses->front(), options.insecure_no_auth);
  if (!made) return made.status();
  door = *std::move(made);
  set_address(self, *door);
  Gathering gathering;
  gathering.deadline = deadline;
  for (std::uint32_t rank = 1; rank < options.size; ++rank) gathering.expected.push_back(rank);
  return lead(*door, self, gathering);
}

}  // namespace

Result<GroupTransport> parse_group_transport(std::string_view name) {
  if (name == "auto") return GroupTransport::kAuto;
  if (name == "shm") return GroupTransport::kShm;
  if (name == "tcp") return GroupTransport::kTcp;
  return Status(Code::kUsage, fmt::format("transport '{}' is unknown; expected auto, shm or tcp", name));
}

Result<std::unique_ptr<LiveFabric>> form_group(const GroupOptions& options) {
  if (options.size == 0 || options.size > limits::kGroupRanksMax || options.rank >= options.size) {
    return Status(Code::kUsage,
                  fmt::format("rank {} of {}: expected a rank below the number of ranks, which is 1 to {}",
                              options.rank, options.size, limits::kGroupRanksMax));
  }
  const Instant deadline = live_now() + options.timeout;
  std::unique_ptr<GroupDoor> door;
  Result<Meeting> meeting = meet(options, deadline, door);
  if (!meeting) return meeting.status();
  auto group = std::make_unique<ProcessGroup>(options, *std::move(meeting), std::move(door));
  const Status connected = group->connect(deadline + kDialTimeout);
  if (!connected) return connected;
  return std::unique_ptr<LiveFabric>(std::move(group));
}

}  // namespace thalweg
