// Memory that processes share by handing on its descriptor. It never shrinks, so that no access to it ends in
// SIGBUS whatever the peer does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "net/socket/file_descriptor.h"
#include "thalweg/status.h"

namespace thalweg {

class ShmMemory {
 public:
  // Zeros; pages come to be when they are touched. `name` shows up in /proc/PID/maps.
  static Result<ShmMemory> create(const std::string& name, std::size_t size);
  // A peer's: kRefused unless it has `size` bytes and is sealed against shrinking.
  static Result<ShmMemory> adopt(FileDescriptor fd, std::size_t size);

  ShmMemory() = default;
  ShmMemory(ShmMemory&& other) noexcept;
  ShmMemory& operator=(ShmMemory&& other) noexcept;
  ~ShmMemory();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  // Null unless all of [offset, offset + size) is within.
  std::byte* at(std::uint64_t offset, std::size_t size) const {
    return offset <= size_ && size <= size_ - offset ? data_ + offset : nullptr;
  }
  int fd() const { return fd_.get(); }
  // The mapping stays.
  void close_fd() { fd_.reset(); }

 private:
  static Result<ShmMemory> map(FileDescriptor fd, std::size_t size);

  FileDescriptor fd_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace thalweg
