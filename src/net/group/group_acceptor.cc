#include "net/group/group_acceptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

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

// Callers that cannot be taken stay in the kernel's queue this long before they are looked at again.
constexpr Duration kQueuePause = std::chrono::milliseconds(10);

bool listens_at(int fd, const SocketAddress& address) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
         to_text(local_address(fd)) == to_text(address);
}

// Who has connected is about to speak, and no rank speaks later unless its machine is overloaded.
constexpr Duration kFirstWordsWithin = std::chrono::milliseconds(100);

// The other descriptors are this process's, for its own calls and memory among other things.
std::size_t callers_that_may_be_silent() {
  rlimit descriptors{};
  constexpr rlim_t kShare = 4;
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return limits::kConnectionsBeforeHelloMax;
  const rlim_t share = std::max<rlim_t>(descriptors.rlim_cur / kShare, 1);
  return std::min<rlim_t>(share, limits::kConnectionsBeforeHelloMax);
}

}  // namespace

GroupAcceptor::GroupAcceptor(Listener listener, const Secret& secret)
    : secret_(secret), listener_(std::move(listener)), strangers_max_(callers_that_may_be_silent()) {}

Result<std::unique_ptr<GroupAcceptor>> GroupAcceptor::listen(const SocketAddress& address,
                                                             bool insecure_no_auth, const Secret& secret) {
  Result<Listener> listener = Listener::open(address, {insecure_no_auth});
  if (!listener) return listener.status();
  return std::make_unique<GroupAcceptor>(*std::move(listener), secret);
}

Result<std::unique_ptr<GroupAcceptor>> GroupAcceptor::borrow(int lent, const SocketAddress& address,
                                                             bool insecure_no_auth, const Secret& secret) {
  if (!listens_at(lent, address)) {
    return Status(Code::kUsage,
                  fmt::format("descriptor {} does not listen at {}: another group of this process is using "
                              "it, or a program closed it that thalweg run had started; run such a program "
                              "with --secret-file",
                              lent, to_text(address)));
  }
  FileDescriptor socket(::fcntl(lent, F_DUPFD_CLOEXEC, 0));
  const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (socket && nothing) {
    Result<Listener> listener = Listener::adopt(std::move(socket), {insecure_no_auth});
    if (!listener) return listener.status();
    // The number stays taken meanwhile, so that it can be left there again.
    if (::dup3(nothing.get(), lent, O_CLOEXEC) >= 0) {
      auto acceptor = std::make_unique<GroupAcceptor>(*std::move(listener), secret);
      acceptor->lent_ = lent;
      return acceptor;
    }
  }
  return Status(Code::kIo,
                fmt::format("cannot take the listening descriptor {}: {}", lent, std::strerror(errno)));
}

GroupAcceptor::~GroupAcceptor() {
  if (lent_ >= 0) ::dup2(listener_.fd(), lent_);  // For the next group, here or in a program started later.
}

Status GroupAcceptor::listen_locally() {
  std::random_device chance;
  std::string name = fmt::format("thalweg-{:08x}{:08x}{:08x}{:08x}", chance(), chance(), chance(), chance());
  const Result<SocketAddress> address = abstract_address(name);
  if (!address) return address.status();
  Result<Listener> listener = Listener::open(*address);
  if (!listener) return listener.status();
  local_listener_ = *std::move(listener);
  local_name_ = std::move(name);
  return {};
}

void GroupAcceptor::look(Instant now) {
  looked_at_ = now;
  shortage_ = {};
  accept_all(listener_);
  if (local_listener_) accept_all(*local_listener_);
  if (shortage_.ok()) short_since_ = kNever;
  if (!shortage_.ok()) short_since_ = std::min(short_since_, now);
  for (auto it = strangers_.begin(); it != strangers_.end();) {
    bool stays = hear(*it);
    if (stays && now >= it->came + limits::kHelloTimeout)
      stays = drop(*it, "it did not say who it is in time");
    it = stays ? std::next(it) : strangers_.erase(it);
  }
}

// Without descriptors there is the one in reserve, which callers that say nothing leave to the next. A rank
// that has been let in, or has only just called, keeps it, as it would not know that it has to call again:
// others wait in the kernel's queue for descriptors to be free.
void GroupAcceptor::accept_all(Listener& listener) {
  for (;;) {
    Result<std::optional<Listener::Call>> call = listener.accept();
    if (!call) {
      shortage_ = call.status();
      call = listener.accept_by_reserve();
      if (!*call && turn_away_silent_stranger()) continue;
      if (!*call) return;
      shortage_ = {};
      short_since_ = kNever;
    }
    if (!*call) return;
    if (strangers_.size() >= strangers_max_) turn_away_oldest_stranger();
    Stranger& stranger = strangers_.emplace_back();
    stranger.caller.socket = std::move((*call)->socket);
    stranger.caller.address = to_text((*call)->remote);
    stranger.came = looked_at_;
    if (!hear(stranger)) strangers_.pop_back();  // Most have said it all when they are taken.
  }
}

Status GroupAcceptor::shortage(Duration lasting) const {
  return !shortage_.ok() && looked_at_ - short_since_ >= lasting ? shortage_ : ok_status();
}

// So that whoever says nothing keeps nobody out. False when there is none.
bool GroupAcceptor::turn_away_oldest_stranger() {
  if (strangers_.empty()) return false;
  drop(strangers_.front(), "others came while it said nothing");
  strangers_.pop_front();
  return true;
}

// False when the oldest may still be about to speak, or there is none.
bool GroupAcceptor::turn_away_silent_stranger() {
  if (strangers_.empty()) return false;
  Stranger& oldest = strangers_.front();
  if (!hear(oldest)) {
    strangers_.pop_front();
    return true;
  }
  return looked_at_ - oldest.came >= kFirstWordsWithin && turn_away_oldest_stranger();
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

Instant GroupAcceptor::watch(std::vector<pollfd>& watched) const {
  const bool waits = !shortage_.ok();  // Whoever is in the queue would end every sleep.
  if (!waits) watched.push_back({listener_.fd(), POLLIN, 0});
  if (!waits && local_listener_) watched.push_back({local_listener_->fd(), POLLIN, 0});
  for (const Stranger& stranger : strangers_) watched.push_back({stranger.caller.socket.get(), POLLIN, 0});
  return waits ? looked_at_ + kQueuePause : kNever;
}

}  // namespace thalweg
