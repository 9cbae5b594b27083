#include "net/ucx/ucx_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <tuple>

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
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) return unusable(file, ::dlerror());
  UcxLibrary found;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (!function && !missing) missing = name;
  };
  find(found.get_version, "ucp_get_version");
  find(found.config_read, "ucp_config_read");
  find(found.config_modify, "ucp_config_modify");
  find(found.config_release, "ucp_config_release");
  find(found.init_version, "ucp_init_version");
  find(found.cleanup, "ucp_cleanup");
  find(found.worker_create, "ucp_worker_create");
  find(found.worker_destroy, "ucp_worker_destroy");
  find(found.worker_get_address, "ucp_worker_get_address");
  find(found.worker_release_address, "ucp_worker_release_address");
  find(found.worker_get_efd, "ucp_worker_get_efd");
  find(found.worker_arm, "ucp_worker_arm");
  find(found.worker_progress, "ucp_worker_progress");
  find(found.worker_set_am_recv_handler, "ucp_worker_set_am_recv_handler");
  find(found.ep_create, "ucp_ep_create");
  find(found.ep_close_nbx, "ucp_ep_close_nbx");
  find(found.am_send_nbx, "ucp_am_send_nbx");
  find(found.am_recv_data_nbx, "ucp_am_recv_data_nbx");
  find(found.request_check_status, "ucp_request_check_status");
  find(found.request_free, "ucp_request_free");
  find(found.status_string, "ucs_status_string");
  if (missing) return unusable(file, fmt::format("it has no function {}", missing));
  unsigned major = 0, minor = 0, release = 0;
  found.get_version(&major, &minor, &release);
  if (major != UCP_API_MAJOR || minor < UCP_API_MINOR) {
    return unusable(file, fmt::format("it has version {}.{}.{}", major, minor, release));
  }
  return found;
}

}  // namespace thalweg
