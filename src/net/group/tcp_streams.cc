#include "net/group/tcp_streams.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace thalweg {
namespace {

// Received bytes that wait to be reduced stay in the second-level cache.
constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
// A small read takes what follows along, up to this much, so that a preface costs no system call of its own.
constexpr std::size_t kReadAheadBytes = std::size_t{16} << 10;
// Fewer bytes than these are worth another look at the socket.
constexpr std::size_t kEnoughBytes = std::size_t{4} << 10;
// At most this much is handed over at once, so that a rank soon turns to what has come in meanwhile.
constexpr std::size_t kWriteBytes = std::size_t{256} << 10;

}  // namespace

TcpStream::TcpStream(RankConnection connection)
    : socket_(std::move(connection.socket)),
      answer_(connection.answer),
      owed_(connection.was_called ? answer_.size() : 0),
      awaited_(connection.was_called ? 0 : answer_.size()),
      buffer_(new std::byte[kBufferBytes]) {}

// With the first bytes that are written and not before: an end that only reads leaves nothing behind that the
// other has not read, which would turn that one's end into a reset.
bool TcpStream::give_proof() {
  const ssize_t sent = ::send(socket_.get(), answer_.data() + answer_.size() - owed_, owed_,
                              MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE);
  if (sent > 0) owed_ -= static_cast<std::size_t>(sent);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) {
    error_ = errno;
    hung_up_ = true;
  }
  return owed_ == 0;
}

bool TcpStream::hear_proof() {
  if (is_stranger_) return false;
  awaited_ -= receive_some(heard_.data() + heard_.size() - awaited_, awaited_);
  if (awaited_ > 0) return false;
  if (same_proof(heard_, answer_)) return true;
  awaited_ = heard_.size();
  is_stranger_ = at_end_ = true;
  return false;
}

std::size_t TcpStream::write(std::span<const Piece> pieces) {
  if (is_stranger_) return 0;
  if (owed_ > 0 && !give_proof()) {
    wants_room_ = true;
    return 0;
  }
  std::array<iovec, 4> parts{};
  std::size_t count = 0, offered = 0;
  for (const Piece& piece : pieces) {
    if (count == parts.size() || offered == kWriteBytes) break;
    const std::size_t size = std::min(piece.size, kWriteBytes - offered);
    parts[count++] = {const_cast<std::byte*>(piece.data), size};
    offered += size;
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno != EAGAIN) {
    error_ = errno;
    hung_up_ = true;
  }
  const std::size_t taken = sent > 0 ? static_cast<std::size_t>(sent) : 0;
  wants_room_ = taken < offered;
  return taken;
}

std::size_t TcpStream::receive(std::byte* into, std::size_t size) {
  return awaited_ > 0 && !hear_proof() ? 0 : receive_some(into, size);
}

std::size_t TcpStream::receive_some(std::byte* into, std::size_t size) {
  ssize_t got = 0;
  do {
    got = ::recv(socket_.get(), into, size, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno != EAGAIN) error_ = errno;
  at_end_ = at_end_ || got == 0 || (got < 0 && errno != EAGAIN);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// Makes room for `want` bytes from the first one that waits, and looks for more.
void TcpStream::fill(std::size_t want) {
  if (begin_ > 0 && begin_ + want > kBufferBytes) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, buffered());
    end_ -= std::exchange(begin_, 0);
  }
  if (begin_ == end_) begin_ = end_ = 0;
  const std::size_t asked = std::max(want, std::min(kReadAheadBytes, kBufferBytes - begin_));
  end_ += receive(buffer_.get() + end_, asked - buffered());
}

Piece TcpStream::peek(std::size_t want) {
  want = std::min(want, kBufferBytes);
  if (buffered() < std::min(want, kEnoughBytes)) fill(want);
  wanted_ = want - std::min(want, buffered());
  return {buffer_.get() + begin_, std::min(want, buffered())};
}

std::size_t TcpStream::read(std::byte* into, std::size_t size) {
  if (buffered() == 0 && size >= kReadAheadBytes) {
    const std::size_t got = receive(into, size);
    wanted_ = size - got;
    return got;
  }
  if (buffered() == 0) fill(size);
  const std::size_t taken = std::min(size, buffered());
  wanted_ = size - taken;
  std::memcpy(into, buffer_.get() + begin_, taken);
  begin_ += taken;
  return taken;
}

void TcpStream::hang_up() {
  hung_up_ = true;
  socklen_t size = sizeof error_;
  if (error_ == 0) ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error_, &size);
}

std::string TcpStream::reason() const {
  if (is_stranger_) return "who answers for it does not know the secret of this group";
  if (error_ != 0) return std::string("the connection broke: ") + std::strerror(error_);
  return "the connection was closed";
}

TcpStream* TcpStreams::open(std::uint16_t channel) {
  if (channel < streams_.size() && streams_[channel]) return streams_[channel].get();
  Result<RankConnection> made = opener_(channel);
  if (!made) {
    lose(made.status().message());
    stays_lost_ = true;
    return nullptr;
  }
  if (!*made) return nullptr;
  adopt(channel, *std::move(made));
  return streams_[channel].get();
}

void TcpStreams::adopt(std::uint16_t channel, RankConnection connection) {
  if (channel >= streams_.size()) streams_.resize(std::size_t{channel} + 1);
  streams_[channel] = std::make_unique<TcpStream>(std::move(connection));
  if (!stays_lost_) status_ = {};
}

// The last look came up short, and so will all others.
void TcpStreams::note_end(const TcpStream& stream) {
  lose(stream.reason());
  stays_lost_ = true;
}

void TcpStreams::lose(const std::string& why) {
  if (status_.ok()) status_ = Status(Code::kPeerLost, peer_ + " is lost: " + why);
}

std::size_t TcpStreams::write(std::uint16_t channel, std::span<const Piece> pieces) {
  TcpStream* stream = open(channel);
  if (!stream) return 0;
  const std::size_t taken = stream->write(pieces);
  if (taken == 0 && stream->over()) note_end(*stream);
  return taken;
}

Piece TcpStreams::peek(std::uint16_t channel, std::size_t want) {
  TcpStream* stream = open(channel);
  if (!stream) return {};
  const Piece piece = stream->peek(want);
  if (stream->wants_bytes() && stream->at_end()) note_end(*stream);
  return piece;
}

void TcpStreams::consume(std::uint16_t channel, std::size_t bytes) { streams_[channel]->consume(bytes); }

std::size_t TcpStreams::read(std::uint16_t channel, std::byte* into, std::size_t size) {
  TcpStream* stream = open(channel);
  if (!stream) return 0;
  const std::size_t got = stream->read(into, size);
  if (stream->wants_bytes() && stream->at_end()) note_end(*stream);
  return got;
}

// Every socket is watched, so that a peer's death shows whatever this rank waits for.
bool TcpStreams::before_sleep(std::vector<pollfd>& watched) {
  for (const auto& stream : streams_) {
    if (!stream || stream->over()) continue;
    const int events =
        POLLRDHUP | (stream->wants_bytes() ? POLLIN : 0) | (stream->wants_room() ? POLLOUT : 0);
    watched.push_back({stream->fd(), static_cast<short>(events), 0});
  }
  return true;
}

void TcpStreams::after_sleep(std::span<const pollfd> watched) {
  std::size_t next = 0;
  for (const auto& stream : streams_) {
    if (!stream || stream->over()) continue;
    if ((watched[next++].revents & (POLLERR | POLLHUP | POLLRDHUP)) != 0) stream->hang_up();
  }
  const auto goes_on = [](const auto& stream) { return stream && !stream->over(); };
  if (std::any_of(streams_.begin(), streams_.end(), goes_on)) return;
  const auto one =
      std::find_if(streams_.begin(), streams_.end(), [](const auto& stream) { return bool{stream}; });
  if (one != streams_.end()) lose((*one)->reason());
}

}  // namespace thalweg
