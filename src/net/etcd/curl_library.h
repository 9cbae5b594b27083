// The functions of libcurl, found when a scheduler's state is in etcd, so that no other program needs it
// installed or waits for all that it loads. https://curl.se/libcurl
#pragma once

#include <curl/curl.h>

#include <string>

#include "thalweg/status.h"

namespace thalweg {

inline constexpr const char* kCurlLibrary = "libcurl.so.4";

// Members have the names of the functions without "curl_".
struct CurlLibrary {
  // kUsage says what to install. Initialised once, for all threads.
  static Result<CurlLibrary> load(const std::string& file = kCurlLibrary);

  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_perform) easy_perform = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
};

}  // namespace thalweg
