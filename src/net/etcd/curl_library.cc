#include "net/etcd/curl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>
#include <type_traits>

namespace thalweg {
namespace {

Status no_curl(const std::string& file, const std::string& why) {
  return {Code::kUsage,
          fmt::format("etcd cannot be asked: {}: {}; install the Debian package libcurl4", file, why)};
}

}  // namespace

Result<CurlLibrary> CurlLibrary::load(const std::string& file) {
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) return no_curl(file, ::dlerror());
  CurlLibrary found;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (!function && !missing) missing = name;
  };
  find(found.global_init, "curl_global_init");
  find(found.easy_init, "curl_easy_init");
  find(found.easy_cleanup, "curl_easy_cleanup");
  find(found.easy_setopt, "curl_easy_setopt");
  find(found.easy_getinfo, "curl_easy_getinfo");
  find(found.easy_perform, "curl_easy_perform");
  find(found.easy_strerror, "curl_easy_strerror");
  find(found.slist_append, "curl_slist_append");
  find(found.slist_free_all, "curl_slist_free_all");
  if (missing) return no_curl(file, fmt::format("it has no function {}", missing));
  static std::once_flag once;
  CURLcode begun = CURLE_OK;
  std::call_once(once, [&] { begun = found.global_init(CURL_GLOBAL_DEFAULT); });
  if (begun != CURLE_OK) return no_curl(file, found.easy_strerror(begun));
  return found;
}

}  // namespace thalweg
