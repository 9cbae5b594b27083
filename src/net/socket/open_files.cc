#include "net/socket/open_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>

namespace thalweg {
namespace {

// The limit below which so many descriptors are free.
rlim_t limit_for(std::size_t more) {
  rlim_t end = 0;
  for (; more > 0; ++end) {
    if (::fcntl(static_cast<int>(end), F_GETFD) < 0) --more;
  }
  return end;
}

}  // namespace

Status allow_open_files(std::size_t more) {
  rlimit limit{};
  const rlim_t needed = limit_for(more);
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return ok_status();
  const rlimit wanted{needed, limit.rlim_max};
  if (needed <= limit.rlim_max && ::setrlimit(RLIMIT_NOFILE, &wanted) == 0) return ok_status();
  return {Code::kIo, fmt::format("this process may have {} files open (ulimit -n), expected {} at least: {} "
                                 "are open, and what this node does and whom it meets may take {} more",
                                 limit.rlim_cur, needed, needed - more, more)};
}

}  // namespace thalweg
