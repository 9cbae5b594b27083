#include "net/group/rendezvous.h"

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
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "base/limits.h"
#include "net/group/group_call.h"
#include "net/live_fabric.h"
#include "net/socket/address.h"
#include "net/socket/socket_options.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

// The leader hears of the deadline first and says who is missing; the others wait this much longer for it.
constexpr Duration kAnswerGrace = 2s;
// How often a rank that waits for an answer looks whether it still is to.
constexpr Duration kLookEvery = 100ms;

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

Applicant applicant(const Member& member, const GroupNonce& nonce, std::uint32_t from) {
  return {member.rank, from, member.size, member.group, member.over_ucx, nonce, who(member)};
}

void set_address(Member& member, const GroupAcceptor& acceptor) {
  member.host = host_of(acceptor.address());
  member.port = port_of(acceptor.address());
  member.local_name = acceptor.local_name();
}

class Meet {
 public:
  Meet(GroupAcceptor& acceptor, const Member& self, const Venue& venue)
      : acceptor_(acceptor),
        self_(self),
        venue_(venue),
        rendezvous_(venue.anew ? Rendezvous::anew(applicant(self, venue.nonce, self.rank), venue.deadline)
                               : Rendezvous::first(applicant(self, venue.nonce, self.rank), venue.deadline)) {
  }

  Result<Meeting> run() {
    for (;;) {
      learn();
      if (rendezvous_.leads()) gather();
      const bool led = rendezvous_.leads();
      const Rendezvous::Next next = rendezvous_.next(live_now());
      if (rendezvous_.leads() && !led) continue;
      if (next == Rendezvous::Next::kForm) {
        const Status shortage = acceptor_.shortage();  // Those who are missing may be in the queue.
        return shortage.ok() || rendezvous_.missing().empty() ? tell_all() : shortage;
      }
      if (next == Rendezvous::Next::kFail) {
        const bool late = rendezvous_.leads() && rendezvous_.failure().code() == Code::kTimeout;
        return late ? give_up() : rendezvous_.failure();
      }
      if (next == Rendezvous::Next::kWait) {
        sleep();
        continue;
      }
      std::optional<Result<Meeting>> answer = call_leader();
      if (answer) return *std::move(answer);
    }
  }

 private:
  struct Guest {
    FileDescriptor socket;
    Member member;
  };

  void learn() {
    if (venue_.news) venue_.news(rendezvous_);
  }

  void gather() {
    acceptor_.look(live_now());
    const auto joins = [](const auto& any) { return any.opening.kind == Opening::Kind::kJoin; };
    while (auto caller = acceptor_.take(joins)) admit(*std::move(caller));
    forget_those_who_left();
  }

  void admit(GroupAcceptor::Caller caller) {
    forget_those_who_left();
    Result<Member> member = decode_member(caller.body);
    Status fits = member.status();
    if (member) {
      fits = rendezvous_.admit(next_guest_, applicant(*member, caller.opening.nonce, caller.opening.from));
    }
    if (fits.ok()) {
      guests_[next_guest_++] = {std::move(caller.socket), *std::move(member)};
      return;
    }
    last_refused_ = fmt::format("{} at {}: {}", member ? fmt::format("rank {}", member->rank) : "a caller",
                                caller.address, fits.message());
    const Bytes refusal = encode_refusal(fits);
    [[maybe_unused]] const auto sent =
        ::send(caller.socket.get(), refusal.span().data(), refusal.size(), MSG_NOSIGNAL);
  }

  // So that one that was started again may take its place. A guest has nothing to say before it is answered.
  void forget_those_who_left() {
    std::erase_if(guests_, [this](const auto& entry) {
      std::byte byte{};
      if (::recv(entry.second.socket.get(), &byte, 1, MSG_DONTWAIT) < 0) return false;
      rendezvous_.hung_up(entry.first);
      return true;
    });
  }

  void sleep() {
    std::vector<pollfd> watched;
    Instant until = std::min(rendezvous_.due(), live_now() + 1s);
    if (rendezvous_.leads()) {
      until = std::min(until, acceptor_.watch(watched));
      for (const auto& [number, guest] : guests_)
        watched.push_back({guest.socket.get(), POLLIN | POLLRDHUP, 0});
    }
    sleep_on(watched, until);
  }

  Result<Meeting> tell_all() {
    Meeting meeting;
    std::random_device chance;
    for (std::uint64_t& half : meeting.table.nonce) half = std::uint64_t{chance()} << 32 | chance();
    std::vector<Member>& members = meeting.table.members;
    const std::vector<Rendezvous::Guest> order = rendezvous_.guests();
    for (const Rendezvous::Guest guest : order) members.push_back(guests_.at(guest).member);
    meeting.rank = rendezvous_.place();
    members.insert(members.begin() + meeting.rank, self_);
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      members[i].rank = i;
      members[i].size = static_cast<std::uint32_t>(members.size());
    }
    // One that has died since is missed when streams are made.
    tell(encode_table(meeting.table));
    return meeting;
  }

  Status give_up() {
    std::string text = fmt::format("{} to rank {} at {}", rendezvous_.failure().message(), self_.rank,
                                   to_text(acceptor_.address()));
    if (const Status shortage = acceptor_.shortage(); !shortage.ok()) text += "; " + shortage.message();
    if (!last_refused_.empty()) text += "; refused " + last_refused_;
    if (acceptor_.dropped() > 0)
      text += fmt::format("; dropped {} ({} in all)", acceptor_.last_dropped(), acceptor_.dropped());
    Status status(rendezvous_.failure().code(), std::move(text));
    tell(encode_refusal(status));
    return status;
  }

  void tell(const Bytes& answer) {
    for (const auto& [number, guest] : guests_)
      (void)send_all(guest.socket.get(), answer.span(), live_now() + kAnswerGrace);
  }

  // None: it is to be called again, or not.
  std::optional<Result<Meeting>> call_leader() {
    const auto [host, port] = venue_.where(rendezvous_.leader());
    if (std::exchange(found_, rendezvous_.leader()) != rendezvous_.leader()) {
      auto addresses = resolve(host, port, venue_.deadline);
      if (!addresses) {
        return Status(addresses.status().code(), fmt::format("rank {} cannot join group '{}': {}", self_.rank,
                                                             self_.group, addresses.status().message()));
      }
      addresses_ = *std::move(addresses);
    }
    const bool others = addresses_.size() > 1;
    Status last;
    for (const SocketAddress& address : addresses_) {
      Result<GroupTable> table = call(address);
      if (table) return joined(*std::move(table));
      last = table.status();
      if (Rendezvous::is_final(last, others)) break;
    }
    const std::string name = fmt::format("rank {} at {}:{}", rendezvous_.leader(), host, port);
    rendezvous_.call_failed(live_now(), name, last, others);
    return std::nullopt;
  }

  // Says who we are, where the secret is known, and waits for the answer.
  Result<GroupTable> call(const SocketAddress& address) {
    Result<FileDescriptor> socket = dial(address, venue_.deadline);
    if (!socket) return socket.status();
    const Bytes body = encode_member(self_);
    Opening opening;
    opening.from = self_.rank;
    opening.to = rendezvous_.leader();
    opening.nonce = venue_.nonce;
    opening.body_bytes = static_cast<std::uint32_t>(body.size());
    const Instant deadline = venue_.deadline + kAnswerGrace;
    const Bytes head_of_hello = encode_opening(opening);
    std::vector<std::byte> hello(head_of_hello.span().begin(), head_of_hello.span().end());
    hello.insert(hello.end(), body.span().begin(), body.span().end());
    if (Status said = prove_and_say(socket->get(), acceptor_.secret(), hello, deadline); !said.ok())
      return said;
    if (!await_answer(socket->get(), deadline))
      return Status(Code::kPeerLost, "it is not waited for any more");
    std::array<std::byte, kAnswerHeadBytes> head_bytes{};
    if (Status got = receive_all(socket->get(), head_bytes, deadline); !got.ok()) return got;
    const Result<AnswerHead> head = decode_answer_head(head_bytes);
    if (!head) return head.status();
    std::vector<std::byte> answer(head->body_bytes);
    if (Status got = receive_all(socket->get(), answer, deadline); !got.ok()) return got;
    return decode_answer(*head, answer);
  }

  // False when it would come in vain.
  bool await_answer(int socket, Instant deadline) {
    for (;;) {
      std::vector<pollfd> watched{{socket, POLLIN, 0}};
      sleep_on(watched, std::min(deadline, live_now() + kLookEvery));
      if (watched[0].revents != 0 || live_now() >= deadline) return true;
      learn();
      if (rendezvous_.in_vain()) return false;
    }
  }

  Meeting joined(GroupTable table) const {
    Meeting meeting{std::move(table), 0};
    for (const Member& member : meeting.table.members) {
      if (is_same_process(member, self_)) meeting.rank = member.rank;
    }
    return meeting;
  }

  GroupAcceptor& acceptor_;
  const Member& self_;
  const Venue& venue_;
  Rendezvous rendezvous_;
  std::map<Rendezvous::Guest, Guest> guests_;
  Rendezvous::Guest next_guest_ = 0;
  std::string last_refused_;
  std::optional<std::uint32_t> found_;  // The leader that has
  std::vector<SocketAddress> addresses_;
};

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

bool is_same_process(const Member& one, const Member& other) {
  return one.pid == other.pid && one.host == other.host && one.port == other.port;
}

Result<Meeting> meet(GroupAcceptor& acceptor, Member self, const Venue& venue) {
  set_address(self, acceptor);
  return Meet(acceptor, self, venue).run();
}

}  // namespace thalweg
