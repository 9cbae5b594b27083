#include "net/group/group_acceptor.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "base/limits.h"
#include "net/group/connection_proof.h"
#include "net/socket/address.h"
#include "net/socket/secret_file.h"
#include "net/socket/socket_options.h"

namespace thalweg {
namespace {

constexpr std::size_t kMagicBytes = sizeof(std::uint32_t);  // By which openings and greetings differ.

template <class T>
const sockaddr* as_sockaddr(const T& address) {
  const void* any = &address;
  return static_cast<const sockaddr*>(any);
}

Status cannot_listen(const SocketAddress& address, int error) {
  std::string why = std::strerror(error);
  if (error == EADDRINUSE) {
    why = "the port is in use by " + port_holder(port_of(address)).value_or("another process");
  }
  return {Code::kIo, fmt::format("cannot listen on {}: {}", to_text(address), why)};
}

bool somebody_calls(int listener) {
  pollfd watched{listener, POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

// The other descriptors are this process's, for its own calls and memory among other things.
std::size_t callers_that_may_be_silent() {
  rlimit descriptors{};
  constexpr rlim_t kShare = 4;
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return limits::kConnectionsBeforeHelloMax;
  const rlim_t share = std::max<rlim_t>(descriptors.rlim_cur / kShare, 1);
  return std::min<rlim_t>(share, limits::kConnectionsBeforeHelloMax);
}

}  // namespace

GroupAcceptor::GroupAcceptor() : strangers_max_(callers_that_may_be_silent()) {}

Result<std::unique_ptr<GroupAcceptor>> GroupAcceptor::listen(const SocketAddress& address,
                                                             bool insecure_no_auth, const Secret& secret) {
  if (!is_loopback(address) && !insecure_no_auth) {
    return Status(
        Code::kUsage,
        fmt::format(
            "cannot listen on {}: other machines could reach it, and what ranks exchange is not "
            "encrypted; use 127.0.0.1 or [::1], or accept the risk: --insecure-no-auth of thalweg run, "
            "THALWEG_INSECURE_NO_AUTH=1, or insecure_no_auth among the options",
            to_text(address)));
  }
  std::unique_ptr<GroupAcceptor> acceptor(new GroupAcceptor);
  acceptor->secret_ = secret;
  acceptor->socket_ = FileDescriptor(open_socket(address.storage.ss_family));
  const int on = 1;
  ::setsockopt(acceptor->socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!acceptor->socket_ ||
      ::bind(acceptor->socket_.get(), as_sockaddr(address.storage), address.size) != 0 ||
      ::listen(acceptor->socket_.get(), SOMAXCONN) != 0) {
    return cannot_listen(address, errno);
  }
  acceptor->address_ = local_address(acceptor->socket_.get());
  return acceptor;
}

Status GroupAcceptor::listen_locally() {
  std::random_device chance;
  local_name_ = fmt::format("thalweg-{:08x}{:08x}{:08x}{:08x}", chance(), chance(), chance(), chance());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(local_name_.begin(), local_name_.end(), address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + local_name_.size());
  local_socket_ = FileDescriptor(open_socket(AF_UNIX));
  if (local_socket_ && ::bind(local_socket_.get(), as_sockaddr(address), size) == 0 &&
      ::listen(local_socket_.get(), SOMAXCONN) == 0) {
    return {};
  }
  const std::string why = std::strerror(errno);
  local_socket_.reset();
  local_name_.clear();
  return {Code::kIo, "cannot listen on a Unix-domain socket: " + why};
}

void GroupAcceptor::look(Instant now) {
  status_ = {};
  accept_all(socket_.get(), now);
  if (local_socket_) accept_all(local_socket_.get(), now);
  for (auto it = strangers_.begin(); it != strangers_.end();) {
    bool stays = hear(*it);
    if (stays && now >= it->deadline) stays = drop(*it, "it did not say who it is in time");
    it = stays ? std::next(it) : strangers_.erase(it);
  }
}

void GroupAcceptor::accept_all(int fd, Instant now) {
  for (;;) {
    SocketAddress remote;
    remote.size = sizeof remote.storage;
    void* storage = &remote.storage;
    FileDescriptor socket(
        ::accept4(fd, static_cast<sockaddr*>(storage), &remote.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!socket && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
      if (!somebody_calls(fd)) return;  // The kernel looks for a descriptor first.
      if (turn_away_oldest_stranger()) continue;
      status_ = Status(Code::kIo, fmt::format("this process cannot take a call: {}", std::strerror(errno)));
    }
    if (!socket) return;
    if (strangers_.size() >= strangers_max_) turn_away_oldest_stranger();
    Stranger& stranger = strangers_.emplace_back();
    stranger.caller.socket = std::move(socket);
    stranger.caller.address = remote.storage.ss_family == AF_UNIX ? "this machine" : to_text(remote);
    if (remote.storage.ss_family != AF_UNIX) tune(stranger.caller.socket.get(), remote);
    stranger.deadline = now + limits::kHelloTimeout;
    if (!hear(stranger)) strangers_.pop_back();  // Most have said it all when they are taken.
  }
}

// So that whoever says nothing keeps nobody out. False when there is none.
bool GroupAcceptor::turn_away_oldest_stranger() {
  if (strangers_.empty()) return false;
  drop(strangers_.front(), "others came while it said nothing");
  strangers_.pop_front();
  return true;
}

// Reads what has come, and nothing beyond what a stranger may say. False when it is none any more.
bool GroupAcceptor::hear(Stranger& stranger) {
  for (;;) {
    std::byte piece[Opening::kBodyBytesMax];
    const std::size_t wanted = std::min(stranger.wanted(), sizeof piece);
    const ssize_t got = ::recv(stranger.caller.socket.get(), piece, wanted, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0)
      return drop(stranger, got < 0 ? std::strerror(errno) : "it hung up before it had said who it is");
    if (!take_in(stranger, std::span(piece).first(static_cast<std::size_t>(got)))) return false;
  }
}

std::size_t GroupAcceptor::Stranger::wanted() const {
  if (handshake) return handshake->wanted();
  if (bytes.size() < kMagicBytes) return kMagicBytes - bytes.size();
  return (bytes.size() < Opening::kBytes ? Opening::kBytes : kProvenOpeningBytes) - bytes.size();
}

bool GroupAcceptor::take_in(Stranger& stranger, std::span<const std::byte> bytes) {
  if (stranger.handshake) return shake_hands(stranger, bytes);
  std::vector<std::byte>& all = stranger.bytes;
  all.insert(all.end(), bytes.begin(), bytes.end());
  if (all.size() == kMagicBytes && Handshake::begins(all)) {
    stranger.handshake = std::make_unique<Handshake>(Handshake::Side::kAcceptor, Handshake::Use::kGroup,
                                                     secret_, draw_nonce());
    return shake_hands(stranger, all);
  }
  if (all.size() == Opening::kBytes) {
    const Result<Opening> opening = decode_opening(all);
    if (!opening) return drop(stranger, opening.status().message());
    stranger.caller.opening = *opening;
  }
  return all.size() < kProvenOpeningBytes || take_opening(stranger);
}

bool GroupAcceptor::take_opening(Stranger& stranger) {
  const Opening& opening = stranger.caller.opening;
  if (opening.kind == Opening::Kind::kJoin || !is_proven_opening(secret_, stranger.bytes))
    return drop(stranger, "it has not proven that it knows the secret");
  if (group_ && opening.nonce != *group_) return drop(stranger, "it calls a group that this rank is not in");
  if (!calls_.insert(opening.call).second) return drop(stranger, "it says again what was said before");
  return let_in(stranger, {});
}

bool GroupAcceptor::shake_hands(Stranger& stranger, std::span<const std::byte> bytes) {
  Handshake& handshake = *stranger.handshake;
  if (const Status status = handshake.take(bytes); !status.ok()) return drop(stranger, status.message());
  if (handshake.heard()) handshake.say({});
  const std::vector<std::byte> answer = handshake.take_output();
  // A few bytes in an empty buffer.
  if (!answer.empty() && ::send(stranger.caller.socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL) !=
                             static_cast<ssize_t>(answer.size())) {
    return drop(stranger, "it hung up in the handshake");
  }
  if (!handshake.heard()) return true;
  const std::span<const std::byte> hello = handshake.hello();
  if (hello.size() < Opening::kBytes) return drop(stranger, "its first bytes are not those of a rank");
  const Result<Opening> opening = decode_opening(hello.first(Opening::kBytes));
  if (!opening) return drop(stranger, opening.status().message());
  if (opening->body_bytes != hello.size() - Opening::kBytes)
    return drop(stranger, "it says more than it announces");
  stranger.caller.opening = *opening;
  return let_in(stranger, hello.subspan(Opening::kBytes));
}

// It is no stranger any more, which false says.
bool GroupAcceptor::let_in(Stranger& stranger, std::span<const std::byte> body) {
  stranger.caller.body.assign(body.begin(), body.end());
  callers_.push_back(std::move(stranger.caller));
  if (callers_.size() > limits::kConnectionsMax) callers_.pop_front();  // Nobody asks for the oldest.
  return false;
}

// False, as it stays no longer.
bool GroupAcceptor::drop(const Stranger& stranger, const std::string& why) {
  ++dropped_;
  last_dropped_ = fmt::format("a caller from {}: {}", stranger.caller.address, why);
  return false;
}

std::optional<GroupAcceptor::Caller> GroupAcceptor::take(const std::function<bool(const Caller&)>& wanted) {
  const auto found = std::find_if(callers_.begin(), callers_.end(), wanted);
  if (found == callers_.end()) return std::nullopt;
  Caller caller = std::move(*found);
  callers_.erase(found);
  return caller;
}

void GroupAcceptor::belong_to(const std::optional<GroupNonce>& group) {
  group_ = group;
  if (!group) return calls_.clear();
  std::erase_if(callers_, [&group](const Caller& caller) {
    return caller.opening.kind != Opening::Kind::kJoin && caller.opening.nonce != *group;
  });
}

void GroupAcceptor::watch(std::vector<pollfd>& watched) const {
  watched.push_back({socket_.get(), POLLIN, 0});
  if (local_socket_) watched.push_back({local_socket_.get(), POLLIN, 0});
  for (const Stranger& stranger : strangers_) watched.push_back({stranger.caller.socket.get(), POLLIN, 0});
}

}  // namespace thalweg
