// Frames out of a stream of bytes, payloads read straight into where they stay.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/frame.h"
#include "base/limits.h"
#include "net/tcp/known_keys.h"

namespace thalweg {

class FrameReader {
 public:
  // Larger frames are refused. Starts at what a stranger may send.
  void set_frame_bytes_max(std::size_t bytes) { frame_bytes_max_ = bytes; }
  // Where the next bytes of the stream go; how many of `parts` are used. Precondition: next() has returned
  // nothing since the last filled().
  std::size_t space(std::span<iovec, 2> parts);
  // `bytes` have been read into space().
  void filled(std::size_t bytes);
  // The next whole frame, nothing when more bytes are needed, or why the stream cannot go on.
  Result<std::optional<Frame>> next();
  // Whether a frame has begun and not ended.
  bool inside_frame() const { return payload_ != nullptr || begin_ != end_ || named_; }
  const KnownKeys& known() const { return known_; }

 private:
  Status take_reference();
  Result<std::optional<Frame>> finish_frame();

  std::size_t frame_bytes_max_ = limits::kFrameBytesBeforeHello;
  std::vector<std::byte> small_;  // Headers and short payloads: [begin_, end_) is not yet used.
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool large_frames_ = false;  // The last payload was large, so little is read ahead of it.

  // Of the frame whose payload is being read.
  FrameHeader head_;
  PayloadLengths lengths_;
  std::shared_ptr<std::byte> payload_;  // `first` is 8-byte, `second` 64-byte aligned.
  std::size_t payload_got_ = 0;
  std::optional<Bytes> named_;  // What has come as a reference is its first segment.
  KnownKeys known_;
};

}  // namespace thalweg
