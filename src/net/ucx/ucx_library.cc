#include "net/ucx/ucx_library.h"

#include <fmt/format.h>

#include "net/loaded_library.h"

namespace thalweg {
namespace {

Status unusable(const std::string& file, const std::string& why) {
  return {Code::kUsage,
          fmt::format("UCX cannot be used: {}: {}; install the Debian package libucx0, version {}.{} "
                      "or above, or choose another transport",
                      file, why, UCP_API_MAJOR, UCP_API_MINOR)};
}

}  // namespace

Result<UcxLibrary> UcxLibrary::load(const std::string& file) {
  LoadedLibrary library(file);
  UcxLibrary found;
  library.find(found.get_version, "ucp_get_version");
  library.find(found.config_read, "ucp_config_read");
  library.find(found.config_modify, "ucp_config_modify");
  library.find(found.config_release, "ucp_config_release");
  library.find(found.init_version, "ucp_init_version");
  library.find(found.cleanup, "ucp_cleanup");
  library.find(found.worker_create, "ucp_worker_create");
  library.find(found.worker_destroy, "ucp_worker_destroy");
  library.find(found.worker_get_address, "ucp_worker_get_address");
  library.find(found.worker_release_address, "ucp_worker_release_address");
  library.find(found.worker_get_efd, "ucp_worker_get_efd");
  library.find(found.worker_arm, "ucp_worker_arm");
  library.find(found.worker_progress, "ucp_worker_progress");
  library.find(found.worker_set_am_recv_handler, "ucp_worker_set_am_recv_handler");
  library.find(found.ep_create, "ucp_ep_create");
  library.find(found.ep_close_nbx, "ucp_ep_close_nbx");
  library.find(found.am_send_nbx, "ucp_am_send_nbx");
  library.find(found.am_recv_data_nbx, "ucp_am_recv_data_nbx");
  library.find(found.request_check_status, "ucp_request_check_status");
  library.find(found.request_free, "ucp_request_free");
  library.find(found.status_string, "ucs_status_string");
  if (!library.trouble().empty()) return unusable(file, library.trouble());
  unsigned major = 0, minor = 0, release = 0;
  found.get_version(&major, &minor, &release);
  if (major != UCP_API_MAJOR || minor < UCP_API_MINOR) {
    return unusable(file, fmt::format("it has version {}.{}.{}", major, minor, release));
  }
  return found;
}

}  // namespace thalweg
