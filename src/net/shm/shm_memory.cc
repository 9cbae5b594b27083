#include "net/shm/shm_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace thalweg {

namespace {

constexpr std::size_t kHugeBytes = std::size_t{2} << 20;

// Addresses that begin at a huge page, as the memory does, so that it can be mapped by them; null when there
// are none left.
std::byte* reserve(std::size_t size) {
  const std::size_t rounded = (size + kHugeBytes - 1) / kHugeBytes * kHugeBytes, all = rounded + kHugeBytes;
  void* const at = ::mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(at);
  const std::size_t before = (kHugeBytes - reinterpret_cast<std::uintptr_t>(at) % kHugeBytes) % kHugeBytes;
  const std::size_t page_end = before + (size + 4095) / 4096 * 4096;
  if (before > 0) ::munmap(first, before);
  ::munmap(first + page_end, all - page_end);
  return first + before;
}

Status refused_by_system(const char* what, std::size_t size) {
  return {Code::kIo, std::string("cannot ") + what + " " + std::to_string(size) +
                         " bytes of shared memory: " + std::strerror(errno)};
}

}  // namespace

ShmMemory::ShmMemory(ShmMemory&& other) noexcept
    : fd_(std::move(other.fd_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

ShmMemory& ShmMemory::operator=(ShmMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

ShmMemory::~ShmMemory() {
  if (data_) ::munmap(data_, size_);
}

Result<ShmMemory> ShmMemory::create(const std::string& name, std::size_t size) {
  FileDescriptor fd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return refused_by_system("create", size);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return refused_by_system("seal", size);
  }
  return map(std::move(fd), size);
}

Result<ShmMemory> ShmMemory::adopt(FileDescriptor fd, std::size_t size) {
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Status(Code::kRefused, "what should be shared memory is not, or is not sealed against shrinking");
  }
  struct stat found {};
  if (::fstat(fd.get(), &found) != 0 || static_cast<std::size_t>(found.st_size) != size) {
    return Status(Code::kRefused, "shared memory of " + std::to_string(found.st_size) + " bytes instead of " +
                                      std::to_string(size));
  }
  return map(std::move(fd), size);
}

Result<ShmMemory> ShmMemory::map(FileDescriptor fd, std::size_t size) {
  std::byte* const begin = reserve(size);
  if (!begin) return refused_by_system("reserve addresses for", size);
  const int how = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
  if (::mmap(begin, size, PROT_READ | PROT_WRITE, how, fd.get(), 0) == MAP_FAILED) {
    Status failed = refused_by_system("map", size);
    ::munmap(begin, size);
    return failed;
  }
  ::madvise(begin, size, MADV_DONTDUMP);  // A core holds what one process knows, not its peers' vectors.
  ShmMemory memory;
  memory.fd_ = std::move(fd);
  memory.data_ = begin;
  memory.size_ = size;
  return memory;
}

}  // namespace thalweg
