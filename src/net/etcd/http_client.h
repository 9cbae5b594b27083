// POST requests with a deadline and a limit on what comes back. For one thread at a time; connections stay
// open between requests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "net/etcd/curl_library.h"
#include "thalweg/state_tls.h"
#include "thalweg/status.h"

namespace thalweg {

struct HttpAnswer {
  long code = 0;  // Of HTTP: 200 is well.
  std::string body;
};

class HttpClient {
 public:
  static Result<std::unique_ptr<HttpClient>> make(const StateTls& tls);
  ~HttpClient();

  // Each piece of an answer as it comes; false: no more is needed.
  using OnPiece = std::function<bool(std::string_view)>;
  // kRetry: nobody was reached, and so nothing done. kUsage: neither, and it will not be otherwise, such as
  // where TLS is refused. kTimeout, kIo: the request may have been heard. Without a body where `on_piece` is
  // given. An answer of more than `bytes_max` is kIo.
  Result<HttpAnswer> post(const std::string& url, std::string_view body, Duration limit,
                          const OnPiece& on_piece = {});

  static constexpr std::size_t kAnswerBytesMax = std::size_t{32} << 20;

 private:
  explicit HttpClient(const CurlLibrary& curl) : curl_(curl) {}
  static std::size_t take(const char* bytes, std::size_t size, std::size_t count, void* sink);
  Status failed(CURLcode code, const std::string& url, Duration limit) const;

  CurlLibrary curl_;
  StateTls tls_;
  CURL* handle_ = nullptr;
  curl_slist* headers_ = nullptr;
  char why_[CURL_ERROR_SIZE] = {};
};

}  // namespace thalweg
