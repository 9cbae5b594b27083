// Grammar of a connection: (size:u32 message[size])*, where a message is blame.cc's.
#include "net/group/group_control.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "net/group/group_call.h"

namespace thalweg {
namespace {

constexpr std::size_t kMessageBytesMax = limits::kTextOfStatusMax + 64;
constexpr Duration kAnswerWait = std::chrono::seconds(1);
constexpr std::size_t kOutBytesMax = std::size_t{1} << 20;  // To a peer that takes nothing; more is dropped.

}  // namespace

GroupControl::GroupControl(std::uint32_t rank, std::vector<FileDescriptor> sockets, FileDescriptor wake_fd,
                           Duration patience, std::function<void()> on_failed)
    : on_failed_(std::move(on_failed)),
      wake_fd_(std::move(wake_fd)),
      control_(rank, static_cast<std::uint32_t>(sockets.size()), patience),
      peers_(sockets.size()) {
  for (std::size_t peer = 0; peer < sockets.size(); ++peer) peers_[peer].socket = std::move(sockets[peer]);
  thread_ = std::thread([this] { run(); });
}

GroupControl::~GroupControl() {
  {
    const std::lock_guard lock(mutex_);
    control_.leave();
    after_change();
    stopping_ = true;
  }
  wake();
  thread_.join();
  // Unread bytes would turn the end into a reset, which may overtake the goodbye.
  for (Peer& peer : peers_) {
    if (!peer.socket) continue;
    ::shutdown(peer.socket.get(), SHUT_WR);
    std::array<std::byte, 4096> rest;
    while (::recv(peer.socket.get(), rest.data(), rest.size(), MSG_DONTWAIT) > 0) {
    }
  }
}

void GroupControl::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_fd_.get(), &one, sizeof one);
}

void GroupControl::run() {
  for (;;) {
    sleep();
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    for (std::uint32_t peer = 0; peer < peers_.size(); ++peer) {
      if (peers_[peer].socket) hear(peer);
    }
    control_.on_time(live_now());
    after_change();
  }
}

void GroupControl::sleep() {
  std::vector<pollfd> watched{{wake_fd_.get(), POLLIN, 0}};
  Instant until = kNever;
  {
    const std::lock_guard lock(mutex_);
    for (const Peer& peer : peers_) {
      if (!peer.socket) continue;
      watched.push_back(
          {peer.socket.get(), static_cast<short>(peer.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    }
    until = control_.next_deadline();
  }
  sleep_on(watched, until);
  std::uint64_t count = 0;
  if (watched[0].revents != 0) [[maybe_unused]]
    const auto got = ::read(wake_fd_.get(), &count, sizeof count);
}

void GroupControl::hear(std::uint32_t rank) {
  Peer& peer = peers_[rank];
  for (;;) {
    std::array<std::byte, 4096> bytes;
    const ssize_t got = ::recv(peer.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      lose(rank, got == 0 ? "its process has ended" : std::strerror(errno));
      return;
    }
    peer.in.insert(peer.in.end(), bytes.data(), bytes.data() + got);
    std::size_t used = 0;
    for (std::uint32_t size = 0; peer.in.size() - used >= sizeof size; used += sizeof size + size) {
      std::memcpy(&size, peer.in.data() + used, sizeof size);
      if (size > kMessageBytesMax) {
        lose(rank,
             fmt::format("it sent a message of {} bytes, at most {} were expected", size, kMessageBytesMax));
        return;
      }
      if (peer.in.size() - used - sizeof size < size) break;
      on_message(rank, std::span(peer.in).subspan(used + sizeof size, size));
    }
    peer.in.erase(peer.in.begin(), peer.in.begin() + static_cast<std::ptrdiff_t>(used));
  }
}

void GroupControl::on_message(std::uint32_t from, std::span<const std::byte> message) {
  const Instant now = live_now();
  const std::optional<CallNote> note = decode_note(from, message);
  if (!note) {
    control_.on_message(now, from, message, activity());
  } else if (Status same = compare(*note); !same.ok()) {
    control_.give_up(from, std::move(same));
  }
}

void GroupControl::lose(std::uint32_t rank, const std::string& why) {
  peers_[rank].socket.reset();
  control_.on_lost(rank, why);
}

// Sends what has come to be said, and tells of a verdict.
void GroupControl::after_change() {
  for (const Blame::Outgoing& message : control_.take_outgoing()) put(message.to, message.message);
  for (std::uint32_t peer = 0; peer < peers_.size(); ++peer) flush(peer);
  changed_.notify_all();
  if (!control_.verdict() || std::exchange(failure_told_, true)) return;
  failed_.store(true, std::memory_order_release);
  on_failed_();
}

void GroupControl::put(std::uint32_t to, const Bytes& message) {
  Peer& peer = peers_[to];
  const auto size = static_cast<std::uint32_t>(message.size());
  if (!peer.socket || peer.out.size() > kOutBytesMax) return;
  const auto head = std::as_bytes(std::span(&size, 1));
  peer.out.insert(peer.out.end(), head.begin(), head.end());
  peer.out.insert(peer.out.end(), message.span().begin(), message.span().end());
}

void GroupControl::flush(std::uint32_t rank) {
  Peer& peer = peers_[rank];
  while (peer.socket && !peer.out.empty()) {
    const ssize_t sent =
        ::send(peer.socket.get(), peer.out.data(), peer.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return;  // hear() finds out why.
    peer.out.erase(peer.out.begin(), peer.out.begin() + sent);
  }
}

Activity GroupControl::activity() const {
  Activity activity;
  activity.left = left_.load(std::memory_order_relaxed);
  activity.entered = entered_.load(std::memory_order_relaxed);
  activity.passed = passed_.load(std::memory_order_relaxed);
  activity.told = told_in_.load(std::memory_order_relaxed) != 0;
  return activity;
}

void GroupControl::tell(std::uint64_t operation, std::uint32_t waits_for, std::string doing) {
  const std::lock_guard lock(mutex_);
  control_.tell(live_now(), waits_for, std::move(doing));
  told_in_.store(operation, std::memory_order_relaxed);
}

Verdict GroupControl::accuse(std::uint32_t waits_for, std::string doing) {
  std::unique_lock lock(mutex_);
  control_.accuse(live_now(), waits_for, std::move(doing));
  return await_verdict(lock);
}

Verdict GroupControl::explain_loss(std::uint32_t peer, Status why) {
  std::unique_lock lock(mutex_);
  control_.explain_loss(live_now(), peer, std::move(why));
  return await_verdict(lock);
}

// The thread finds it, at its time.
Verdict GroupControl::await_verdict(std::unique_lock<std::mutex>& lock) {
  after_change();
  wake();
  changed_.wait(lock, [this] { return control_.verdict().has_value(); });
  return *control_.verdict();
}

void GroupControl::give_up(std::uint32_t guilty, Status why) {
  const std::lock_guard lock(mutex_);
  control_.give_up(guilty, std::move(why));
  after_change();
  wake();
}

Verdict GroupControl::verdict() const {
  const std::lock_guard lock(mutex_);
  return *control_.verdict();
}

void GroupControl::show(std::uint32_t peer, const CallNote& note) {
  const std::lock_guard lock(mutex_);
  put(peer, encode_note(note));
  flush(peer);
  if (!peers_[peer].out.empty()) wake();
}

std::optional<Verdict> GroupControl::ask(std::uint32_t peer, const CallNote& note) {
  show(peer, note);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kAnswerWait, [this] { return control_.verdict().has_value(); });
  return control_.verdict();
}

std::optional<Verdict> GroupControl::found() const {
  if (!failed()) return std::nullopt;
  return verdict();
}

bool GroupControl::is_gone(std::uint32_t peer) const {
  const std::lock_guard lock(mutex_);
  return control_.is_gone(peer);
}

bool GroupControl::is_out(std::uint32_t peer) const {
  const std::lock_guard lock(mutex_);
  return control_.is_out(peer);
}

void GroupControl::leave_out(std::uint32_t peer) {
  const std::lock_guard lock(mutex_);
  control_.leave_out(peer);
  after_change();
  wake();
}

bool GroupControl::was_left_out() const {
  const std::lock_guard lock(mutex_);
  return control_.was_left_out();
}

}  // namespace thalweg
