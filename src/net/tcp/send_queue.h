// Frames on their way to one peer, as the parts of a vectored write.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <deque>
#include <span>

#include "base/frame.h"
#include "base/planted.h"
#include "net/tcp/known_keys.h"

namespace thalweg {

class SendQueue {
 public:
  void push(Frame frame);
  // Moves all of `other` behind this queue's end; none of them is partly sent.
  void append(SendQueue& other);
  bool empty() const { return items_.empty(); }
  std::size_t bytes() const { return bytes_; }
  // Of bytes(), those in frames that answer the peer.
  std::size_t answer_bytes() const { return answer_bytes_; }
  // Whether the first frame is partly sent, so that nothing may be sent before the rest of it.
  bool inside_frame() const { return offset_ > 0; }

  // Fills `parts` with the next bytes to send, up to about `bytes_max`; how many parts. Keys that the other
  // end knows are named.
  std::size_t fill(std::span<iovec> parts, std::size_t bytes_max);
  // `bytes` of what fill() gave are sent.
  void sent(std::size_t bytes);
  // For a new connection, whose other end knows nothing: a frame partly sent goes out again whole.
  void restart();
  void clear();

 private:
  struct Item {
    Frame frame;
    std::size_t bytes;  // If all of it is sent.
    // As it goes out on this connection, once fill() has come to it.
    bool made = false;
    bool names_keys = false;
    std::array<std::byte, KnownKeys::kReferenceBytes + kHeaderBytes> head{};
    std::size_t head_bytes = 0;
    std::size_t wire_bytes = 0;
  };
  void make(Item& item);

  std::deque<Item> items_;
  KnownKeys known_;         // At the other end, once it has read what has been made.
  std::size_t offset_ = 0;  // Bytes of the first item that are sent.
  std::size_t bytes_ = 0;
  std::size_t answer_bytes_ = 0;
};

}  // namespace thalweg
