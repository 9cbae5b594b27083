#include "net/socket/event_fd.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace thalweg {

Result<FileDescriptor> make_event_fd() {
  FileDescriptor made(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!made) return Status(Code::kIo, std::string("cannot create an eventfd: ") + std::strerror(errno));
  return made;
}

}  // namespace thalweg
