// One channel's stream as messages that carry their place in it, for networks that keep neither order nor
// bounds: a window as of TCP (RFC 9293, section 3.8.6). The writer never runs further ahead of the reader
// than the window is wide; the reader puts messages where they belong, in whatever order they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "node/fabric.h"

namespace thalweg {

// Of one direction of one channel, at both ends.
inline constexpr std::size_t kWindowBytes = std::size_t{256} << 10;
// At most as long, and never across a multiple of the window, are messages.
inline constexpr std::size_t kWindowMessageBytes = std::size_t{32} << 10;

// All positions count bytes since the stream's start.
class SendWindow {
 public:
  struct Message {
    std::uint64_t at = 0;
    const std::byte* data = nullptr;  // Stays until the reader has told that it read it.
    std::size_t size = 0;             // 0: there is none.
  };
  // Copies as many bytes as there is room for, and says how many.
  std::size_t put(std::span<const Piece> pieces);
  // The next bytes to send, each once.
  Message take_message();
  // The reader has consumed so much; false when that cannot be.
  [[nodiscard]] bool on_consumed(std::uint64_t position);
  std::uint64_t sent() const { return sent_; }

 private:
  std::unique_ptr<std::byte[]> data_;  // Made when first used.
  std::uint64_t consumed_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t put_ = 0;
};

class ReceiveWindow {
 public:
  // Where the message [at, at + size) goes; null when no writer sends that.
  std::byte* place(std::uint64_t at, std::size_t size);
  // It has come.
  void on_message(std::uint64_t at, std::size_t size);

  // As Fabric's.
  Piece peek(std::size_t want) const;
  void consume(std::size_t bytes) { consumed_ += bytes; }
  std::size_t read(std::byte* into, std::size_t size);

  // Whether enough was consumed for the writer to be told now.
  bool owes_news() const { return consumed_ - told_ >= kWindowBytes / 4; }
  // Whether the writer may lack room that there is: to be told before this rank sleeps.
  bool hides_room() const { return consumed_ != told_ && ready_ - told_ > kWindowBytes / 2; }
  // What to tell the writer: how much was consumed.
  std::uint64_t take_news() { return told_ = consumed_; }

 private:
  std::unique_ptr<std::byte[]> data_;  // Made when first used.
  std::uint64_t consumed_ = 0;
  std::uint64_t told_ = 0;
  std::uint64_t ready_ = 0;                        // Up to here all have come.
  std::map<std::uint64_t, std::uint64_t> beyond_;  // Those after a gap: begin to end.
};

}  // namespace thalweg
