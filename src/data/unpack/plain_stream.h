// A buffered file descriptor or command, and what unpackers say of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/byte_stream.h"
#include "data/unpack/command_output.h"
#include "thalweg/status.h"

namespace thalweg {

// Closes `fd` at its end, but for standard input.
class PlainStream final : public ByteStream {
 public:
  PlainStream(std::string name, int fd);
  PlainStream(std::string name, std::unique_ptr<CommandOutput> command);
  ~PlainStream() override;
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

  Result<std::size_t> read(char* to, std::size_t size) override;
  void give_way() override { give_way_ = true; }
  std::uint64_t bytes_consumed() const override { return consumed_; }
  Packing packing() const override { return command_ ? Packing::kCommand : Packing::kPlain; }

  // Reads behind what is buffered; 0: the end, or the buffer is full.
  Result<std::size_t> fill();
  char* data() { return buffer_.data() + begin_; }
  std::size_t size() const { return end_ - begin_; }
  void take(std::size_t count) { begin_ += count, consumed_ += count; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  int fd_;  // -1: there is a command instead.
  std::unique_ptr<CommandOutput> command_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t consumed_ = 0;
  bool give_way_ = false;
};

// Errors of packed data that cannot be unpacked, or ends too early; `kind` such as "gzip".
Status damaged(const PlainStream& from, const char* kind, const char* why);
Status cut(const PlainStream& from, const char* kind);

}  // namespace thalweg
