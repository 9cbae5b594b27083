#include "net/rendezvous.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <random>
#include <utility>

#include "base/limits.h"
#include "net/address.h"
#include "net/group_call.h"
#include "net/live_fabric.h"
#include "net/socket_options.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

// The leader hears of the deadline first and says who is missing; the others wait this much longer for it.
constexpr Duration kAnswerGrace = 2s;
constexpr Duration kCallAgainFirst = 10ms;
constexpr Duration kCallAgainMax = 250ms;

std::string list_of(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kShown = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kShown); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  }
  return ranks.size() > kShown ? fmt::format("{} and {} more", text, ranks.size() - kShown) : text;
}

std::string who(const Member& member) {
  return fmt::format("rank {} (process {} at {}:{})", member.rank, member.pid, member.host, member.port);
}

// Where abstract Unix-domain sockets and the memory handed over them reach: one boot of one kernel, one
// network namespace.
std::string this_machine() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(in, boot);
  struct stat space {};
  if (boot.empty() || ::stat("/proc/self/ns/net", &space) != 0) return {};
  return fmt::format("{}/{}:{}", boot, space.st_dev, space.st_ino);
}

class Leader {
 public:
  Leader(GroupDoor& door, const Member& self, const Gathering& gathering)
      : door_(door), self_(self), gathering_(gathering) {}

  Result<Meeting> run() {
    for (;;) {
      const Instant now = live_now();
      door_.look(now);
      while (auto caller =
                 door_.take([](const auto& any) { return any.opening.kind == Opening::Kind::kJoin; })) {
        admit(*std::move(caller));
      }
      if (!door_.status()) return door_.status();
      forget_those_who_left();
      const std::vector<std::uint32_t> missing = those_missing();
      if (missing.empty() || (gathering_.goes_on_without && now >= gathering_.deadline)) return tell_all();
      if (now >= gathering_.deadline) return give_up(missing);
      sleep();
    }
  }

 private:
  struct Guest {
    FileDescriptor socket;
    Member member;
  };

  void admit(GroupDoor::Caller caller) {
    forget_those_who_left();
    Result<Member> member = decode_member(caller.body);
    Status fits = member ? check(caller.opening, *member) : member.status();
    if (fits.is_ok()) {
      guests_.push_back({std::move(caller.socket), *std::move(member)});
      return;
    }
    last_refused_ = fmt::format("{} at {}: {}", member ? fmt::format("rank {}", member->rank) : "a caller",
                                caller.address, fits.message());
    const Bytes refusal = encode_refusal(fits);
    [[maybe_unused]] const auto sent =
        ::send(caller.socket.get(), refusal.span().data(), refusal.size(), MSG_NOSIGNAL);
  }

  Status check(const Opening& opening, const Member& member) const {
    const auto refused = [](std::string why) { return Status(Code::kRefused, std::move(why)); };
    if (member.group != self_.group) {
      return refused(
          fmt::format("it wants to join group '{}', this is group '{}'", member.group, self_.group));
    }
    if (opening.nonce != gathering_.nonce) return refused("the group has been formed anew since");
    if (member.size != self_.size) {
      return refused(fmt::format("it was started for a group of {} ranks, rank {} for one of {}", member.size,
                                 self_.rank, self_.size));
    }
    if (member.over_ucx != self_.over_ucx) {
      return refused(fmt::format("it was started {} UCX, rank {} {} it", member.over_ucx ? "over" : "without",
                                 self_.rank, self_.over_ucx ? "over" : "without"));
    }
    if (member.rank >= member.size || opening.from != member.rank) {
      return refused(fmt::format("rank {} is not one of {}", member.rank, member.size));
    }
    if (member.rank == self_.rank) return refused("there already is " + who(self_));
    for (const Guest& guest : guests_) {
      if (guest.member.rank == member.rank) return refused("there already is " + who(guest.member));
    }
    const auto& expected = gathering_.expected;
    if (std::find(expected.begin(), expected.end(), member.rank) == expected.end()) {
      return refused(fmt::format("rank {} has been given up", member.rank));
    }
    return {};
  }

  // So that one that was started again may take its place.
  void forget_those_who_left() {
    std::erase_if(guests_, [](const Guest& guest) {
      std::byte byte{};
      return ::recv(guest.socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
    });
  }

  std::vector<std::uint32_t> those_missing() const {
    std::vector<std::uint32_t> missing;
    for (const std::uint32_t rank : gathering_.expected) {
      const auto is = [rank](const Guest& guest) { return guest.member.rank == rank; };
      const bool out = gathering_.is_out && gathering_.is_out(rank);
      if (!out && std::none_of(guests_.begin(), guests_.end(), is)) missing.push_back(rank);
    }
    return missing;
  }

  void sleep() {
    std::vector<pollfd> watched;
    door_.watch(watched);
    for (const Guest& guest : guests_) watched.push_back({guest.socket.get(), POLLIN | POLLRDHUP, 0});
    sleep_on(watched, std::min(gathering_.deadline, live_now() + 1s));
  }

  Result<Meeting> tell_all() {
    Meeting meeting;
    std::random_device chance;
    for (std::uint64_t& half : meeting.table.nonce) half = std::uint64_t{chance()} << 32 | chance();
    std::vector<Member>& members = meeting.table.members;
    members.push_back(self_);
    for (const Guest& guest : guests_) members.push_back(guest.member);
    std::sort(members.begin(), members.end(),
              [](const Member& a, const Member& b) { return a.rank < b.rank; });
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      if (members[i].rank == self_.rank) meeting.rank = i;
    }
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      members[i].rank = i;
      members[i].size = static_cast<std::uint32_t>(members.size());
    }
    // One that has died since is missed when streams are made.
    const Bytes table = encode_table(meeting.table);
    for (const Guest& guest : guests_) {
      (void)send_all(guest.socket.get(), table.span(), live_now() + kAnswerGrace);
    }
    return meeting;
  }

  Status give_up(const std::vector<std::uint32_t>& missing) {
    std::string text =
        fmt::format("group '{}' of {} ranks did not form in time: {} did not come to rank {} at {}",
                    self_.group, self_.size, list_of(missing), self_.rank, to_text(door_.address()));
    if (!last_refused_.empty()) text += "; refused " + last_refused_;
    if (door_.dropped() > 0)
      text += fmt::format("; dropped {} ({} in all)", door_.last_dropped(), door_.dropped());
    Status status(Code::kTimeout, std::move(text));
    const Bytes refusal = encode_refusal(status);
    for (const Guest& guest : guests_) {
      (void)send_all(guest.socket.get(), refusal.span(), live_now() + kAnswerGrace);
    }
    return status;
  }

  GroupDoor& door_;
  const Member& self_;
  const Gathering& gathering_;
  std::vector<Guest> guests_;
  std::string last_refused_;
};

// Says who we are, where the secret is known, and waits for the answer.
Result<GroupTable> ask(int socket, const Invitation& invitation, const Member& self, const Secret& secret) {
  const Bytes body = encode_member(self);
  Opening opening;
  opening.from = self.rank;
  opening.to = invitation.leader;
  opening.nonce = invitation.nonce;
  opening.body_bytes = static_cast<std::uint32_t>(body.size());
  const Instant deadline = invitation.deadline + kAnswerGrace;
  const Bytes head_of_hello = encode_opening(opening);
  std::vector<std::byte> hello(head_of_hello.span().begin(), head_of_hello.span().end());
  hello.insert(hello.end(), body.span().begin(), body.span().end());
  if (Status said = prove_and_say(socket, secret, hello, deadline); !said) return said;
  std::array<std::byte, kAnswerHeadBytes> head_bytes{};
  if (Status got = receive_all(socket, head_bytes, deadline); !got) return got;
  const Result<AnswerHead> head = decode_answer_head(head_bytes);
  if (!head) return head.status();
  std::vector<std::byte> answer(head->body_bytes);
  if (Status got = receive_all(socket, answer, deadline); !got) return got;
  return decode_answer(*head, answer);
}

Result<GroupTable> call(const Invitation& invitation, const SocketAddress& address, const Member& self,
                        const Secret& secret) {
  Result<FileDescriptor> socket = dial(address, invitation.deadline);
  if (!socket) return socket.status();
  return ask(socket->get(), invitation, self, secret);
}

}  // namespace

Member describe_this_process(std::uint32_t rank, std::uint32_t size, std::string group) {
  Member self;
  self.rank = rank;
  self.size = size;
  self.group = std::move(group);
  self.machine = this_machine();
  self.uid = ::getuid();
  self.pid = static_cast<std::uint32_t>(::getpid());
  cpu_set_t cores{};
  ::sched_getaffinity(0, sizeof cores, &cores);
  const void* bytes = &cores;
  self.cores.assign(static_cast<const char*>(bytes), sizeof cores);
  return self;
}

void set_address(Member& member, const GroupDoor& door) {
  member.host = host_of(door.address());
  member.port = port_of(door.address());
  member.local_name = door.local_name();
}

Result<Meeting> lead(GroupDoor& door, const Member& self, const Gathering& gathering) {
  return Leader(door, self, gathering).run();
}

Result<Meeting> join(const Invitation& invitation, Member self, const GroupDoor& door) {
  const std::string leader =
      fmt::format("rank {} at {}:{}", invitation.leader, invitation.host, invitation.port);
  const auto failed = [&](Code code, const std::string& why) {
    return Status(code, fmt::format("rank {} cannot join group '{}': {}", self.rank, self.group, why));
  };
  set_address(self, door);
  const auto addresses = resolve(invitation.host, invitation.port, invitation.deadline);
  if (!addresses) return failed(addresses.status().code(), addresses.status().message());
  Duration pause = kCallAgainFirst;
  for (;;) {
    Status last;
    for (const SocketAddress& address : *addresses) {
      Result<GroupTable> table = call(invitation, address, self, door.secret());
      if (table) {
        Meeting meeting{*std::move(table), 0};
        for (Member& member : meeting.table.members) {
          if (member.pid == self.pid && member.host == self.host && member.port == self.port) {
            meeting.rank = member.rank;
          }
        }
        return meeting;
      }
      last = table.status();
      const bool calls_again = last.code() == Code::kRetry || last.code() == Code::kPeerLost ||
                               (last.code() == Code::kIo && addresses->size() > 1);
      if (!calls_again && last.code() == Code::kIo) return failed(Code::kIo, last.message());
      if (!calls_again) return failed(last.code(), leader + " answers: " + last.message());
    }
    const bool out = invitation.is_out && invitation.is_out();
    if (out || live_now() + pause >= invitation.deadline) {
      return failed(Code::kTimeout,
                    fmt::format("{} could not be reached in time: {}", leader, last.message()));
    }
    std::vector<pollfd> none;
    sleep_on(none, live_now() + pause);
    pause = std::min(pause * 2, kCallAgainMax);
  }
}

}  // namespace thalweg
