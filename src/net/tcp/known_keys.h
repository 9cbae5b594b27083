// Keys that pulls on one connection have named lately, as both its ends know them: a frame of the very same
// keys, as the push that follows a pull is, says which of them it means instead of sending them again. What
// is known follows from the frames alone, in the order of the stream, so nobody has to ask.
// Grammar, little-endian; goes before a header that says first_bytes = 0:
//   reference := magic:u32 age:u32 bytes:u32 check:u32
// age: pulls kept since; bytes: of the segment; check: the low half of XXH3-64 over the 12 bytes before it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "base/frame.h"

namespace thalweg {

class KnownKeys {
 public:
  static constexpr std::size_t kReferenceBytes = 16;
  static constexpr std::size_t kSegmentBytesMin = 4096;  // Shorter ones are sent.
  static constexpr std::size_t kCountMax = 32;
  static constexpr std::size_t kBytesMax = std::size_t{8} << 20;
  using Reference = std::array<std::byte, kReferenceBytes>;

  // Of each frame whose first segment is sent, or has come, in full.
  void on_frame(const Frame& frame);
  void clear() { kept_.clear(), bytes_ = 0; }
  std::size_t size() const { return kept_.size(); }
  std::size_t bytes() const { return bytes_; }

  // At the end that sends. Only what lies in the very same memory is found; nothing: it has to be sent.
  std::optional<Reference> find(const Bytes& segment) const;

  // At the end that receives. Whether these are the first bytes of a reference and not of a header.
  static bool begins(std::span<const std::byte> bytes);
  // kRefused: it was damaged, or what it names is not known here. Precondition: kReferenceBytes of them.
  Result<Bytes> named(std::span<const std::byte> reference) const;

 private:
  std::deque<Bytes> kept_;  // Newest first.
  std::size_t bytes_ = 0;
};

}  // namespace thalweg
