#include "net/ucx/stream_window.h"

#include <algorithm>
#include <cstring>

#include "base/planted.h"

namespace thalweg {
namespace {

std::size_t until_wrap(std::uint64_t position) {
  return kWindowBytes - static_cast<std::size_t>(position % kWindowBytes);
}

std::byte* slot(std::unique_ptr<std::byte[]>& data, std::uint64_t position) {
  if (!data) data.reset(new std::byte[kWindowBytes]);
  return data.get() + position % kWindowBytes;
}

}  // namespace

std::size_t SendWindow::put(std::span<const Piece> pieces) {
  const std::uint64_t before = put_;
  for (const Piece& piece : pieces) {
    const std::size_t room = kWindowBytes - static_cast<std::size_t>(put_ - consumed_);
    const std::size_t size = std::min(piece.size, room);
    for (std::size_t done = 0; done < size;) {
      const std::size_t part = std::min(size - done, until_wrap(put_));
      std::memcpy(slot(data_, put_), piece.data + done, part);
      put_ += part;
      done += part;
    }
    if (size < piece.size) break;
  }
  return static_cast<std::size_t>(put_ - before);
}

SendWindow::Message SendWindow::take_message() {
  const std::size_t size =
      std::min({static_cast<std::size_t>(put_ - sent_), until_wrap(sent_), kWindowMessageBytes});
  if (size == 0) return {};
  const Message message{sent_, slot(data_, sent_), size};
  sent_ += size;
  return message;
}

bool SendWindow::on_consumed(std::uint64_t position) {
  if (position < consumed_ || position > sent_) return false;
  consumed_ = position;
  return true;
}

std::byte* ReceiveWindow::place(std::uint64_t at, std::size_t size) {
  const bool fits = size > 0 && at >= ready_ && at - consumed_ < kWindowBytes &&
                    size <= kWindowBytes - (at - consumed_) && size <= until_wrap(at);
  return fits ? slot(data_, at) : nullptr;
}

void ReceiveWindow::on_message(std::uint64_t at, std::size_t size) {
  const std::uint64_t end = (THALWEG_BUG(kRepeatCounted) ? std::max(at, ready_) : at) + size;
  if (at > ready_) {
    std::uint64_t& known = beyond_[at];
    known = std::max(known, end);
    return;
  }
  ready_ = std::max(ready_, end);
  for (auto next = beyond_.begin(); next != beyond_.end() && next->first <= ready_;) {
    ready_ = std::max(ready_, next->second);
    next = beyond_.erase(next);
  }
}

Piece ReceiveWindow::peek(std::size_t want) const {
  const std::size_t size =
      std::min({want, static_cast<std::size_t>(ready_ - consumed_), until_wrap(consumed_)});
  return {data_ ? data_.get() + consumed_ % kWindowBytes : nullptr, size};
}

std::size_t ReceiveWindow::read(std::byte* into, std::size_t size) {
  std::size_t got = 0;
  while (got < size) {
    const Piece piece = peek(size - got);
    if (piece.size == 0) break;
    std::memcpy(into + got, piece.data, piece.size);
    consume(piece.size);
    got += piece.size;
  }
  return got;
}

}  // namespace thalweg
