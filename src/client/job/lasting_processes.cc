#include "client/job/lasting_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "net/socket/address.h"

namespace thalweg {
namespace {

Status refused(const std::string& path, std::string_view what) {
  return {Code::kIo, fmt::format("{}: cannot be {}: {}", path, what, std::strerror(errno))};
}

// A lock is of all who have inherited the descriptor, and goes with the last of them.
bool lock(const FileDescriptor& file) { return flock(file.get(), LOCK_EX | LOCK_NB) == 0; }

}  // namespace

Result<LastingProcesses> LastingProcesses::of(const std::string& directory) {
  LastingProcesses found(directory);
  const FileDescriptor file(open(found.path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return found;
  if (!file) return refused(found.path_, "read");
  found.known_ = true;
  if (lock(file)) return found;
  if (errno != EWOULDBLOCK) return refused(found.path_, "locked");
  std::array<char, 512> text{};
  const ssize_t size = read(file.get(), text.data(), text.size());
  if (size < 0) return refused(found.path_, "read");
  found.address_.assign(text.data(), static_cast<std::size_t>(size));
  if (const auto address = parse_host_port(found.address_); !address || address->port == "0")
    return Status(Code::kModel, found.path_ +
                                    ": damaged: expected the address at which processes of the job look for "
                                    "its scheduler, such as 127.0.0.1:7100");
  return found;
}

// Who comes to the name finds all of it.
Result<FileDescriptor> LastingProcesses::begin(const std::string& address) {
  const std::string staged = path_ + ".new";
  FileDescriptor file(open(staged.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return refused(staged, "made");
  if (!lock(file)) return refused(staged, "locked");
  if (write(file.get(), address.data(), address.size()) != static_cast<ssize_t>(address.size()) ||
      fsync(file.get()) != 0)
    return refused(staged, "written");
  if (rename(staged.c_str(), path_.c_str()) != 0) return refused(path_, "put in place");
  return file;
}

bool LastingProcesses::gone() const {
  const FileDescriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  return !file || lock(file);
}

}  // namespace thalweg
