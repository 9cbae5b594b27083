#include "net/etcd/curl_library.h"

#include <fmt/format.h>

#include <mutex>

#include "net/loaded_library.h"

namespace thalweg {
namespace {

Status no_curl(const std::string& file, const std::string& why) {
  return {Code::kUsage,
          fmt::format("etcd cannot be asked: {}: {}; install the Debian package libcurl4", file, why)};
}

}  // namespace

Result<CurlLibrary> CurlLibrary::load(const std::string& file) {
  LoadedLibrary library(file);
  CurlLibrary found;
  library.find(found.global_init, "curl_global_init");
  library.find(found.easy_init, "curl_easy_init");
  library.find(found.easy_cleanup, "curl_easy_cleanup");
  library.find(found.easy_setopt, "curl_easy_setopt");
  library.find(found.easy_getinfo, "curl_easy_getinfo");
  library.find(found.easy_perform, "curl_easy_perform");
  library.find(found.easy_strerror, "curl_easy_strerror");
  library.find(found.slist_append, "curl_slist_append");
  library.find(found.slist_free_all, "curl_slist_free_all");
  if (!library.trouble().empty()) return no_curl(file, library.trouble());
  static std::once_flag once;
  CURLcode begun = CURLE_OK;
  std::call_once(once, [&] { begun = found.global_init(CURL_GLOBAL_DEFAULT); });
  if (begun != CURLE_OK) return no_curl(file, found.easy_strerror(begun));
  return found;
}

}  // namespace thalweg
