// Instead of ucx_group.cc where the build was not asked for UCX.
#include "net/ucx/ucx_group.h"

namespace thalweg {

Status UcxGroup::available() {
  return {Code::kUsage,
          "UCX cannot be used: this program was built without it; install the Debian package libucx-dev and "
          "build anew with -D THALWEG_UCX=ON, or choose another transport"};
}

Result<std::unique_ptr<UcxGroup>> UcxGroup::open(std::uint32_t, std::uint32_t, bool) { return available(); }

}  // namespace thalweg
