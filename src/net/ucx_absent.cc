// Instead of ucx_group.cc where the build found no headers of UCX.
#include "net/ucx_group.h"

namespace thalweg {

Status UcxGroup::available() {
  return {Code::kUsage,
          "UCX cannot be used: this program was built without it; install the Debian package libucx-dev and "
          "build anew, or choose another transport"};
}

Result<std::unique_ptr<UcxGroup>> UcxGroup::open(std::uint32_t, std::uint32_t, bool) { return available(); }

}  // namespace thalweg
