#include "net/etcd/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace thalweg {
namespace {

constexpr Duration kConnectLimit = std::chrono::seconds(1);

struct Sink {
  std::string body;
  const HttpClient::OnPiece* on_piece = nullptr;
  bool enough = false, too_large = false;
};

long milliseconds(Duration time) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::make(const StateTls& tls) {
  auto curl = CurlLibrary::load();
  if (!curl) return curl.status();
  std::unique_ptr<HttpClient> client(new HttpClient(*curl));
  client->tls_ = tls;
  client->handle_ = curl->easy_init();
  if (client->handle_ == nullptr) return Status(Code::kIo, "libcurl cannot begin");
  // No "Expect: 100-continue", which would cost large requests a second.
  client->headers_ = curl->slist_append(nullptr, "Content-Type: application/json");
  client->headers_ = curl->slist_append(client->headers_, "Expect:");
  CURL* const handle = client->handle_;
  const auto set = [&](CURLoption option, auto value) { (void)curl->easy_setopt(handle, option, value); };
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_HTTPHEADER, client->headers_);
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(client->why_));
  set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(kConnectLimit));
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (!tls.ca.empty()) set(CURLOPT_CAINFO, tls.ca.c_str());
  if (!tls.cert.empty()) set(CURLOPT_SSLCERT, tls.cert.c_str());
  if (!tls.key.empty()) set(CURLOPT_SSLKEY, tls.key.c_str());
  set(CURLOPT_WRITEFUNCTION, &HttpClient::take);
  return client;
}

HttpClient::~HttpClient() {
  if (handle_ != nullptr) curl_.easy_cleanup(handle_);
  curl_.slist_free_all(headers_);
}

std::size_t HttpClient::take(const char* bytes, std::size_t size, std::size_t count, void* sink) {
  auto& to = *static_cast<Sink*>(sink);
  const std::string_view piece(bytes, size * count);
  if (*to.on_piece) {
    to.enough = !(*to.on_piece)(piece);
    return to.enough ? 0 : piece.size();
  }
  to.too_large = to.body.size() + piece.size() > kAnswerBytesMax;
  if (to.too_large) return 0;
  to.body += piece;
  return piece.size();
}

Result<HttpAnswer> HttpClient::post(const std::string& url, std::string_view body, Duration limit,
                                    const OnPiece& on_piece) {
  Sink sink;
  sink.on_piece = &on_piece;
  why_[0] = 0;
  const auto set = [&](CURLoption option, auto value) { (void)curl_.easy_setopt(handle_, option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_POSTFIELDS, body.data());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_TIMEOUT_MS, std::max(1L, milliseconds(limit)));
  set(CURLOPT_WRITEDATA, static_cast<void*>(&sink));
  const CURLcode done = curl_.easy_perform(handle_);
  if (sink.too_large)
    return Status(Code::kIo, fmt::format("{}: the answer has more than {} bytes, which is no etcd's", url,
                                         kAnswerBytesMax));
  const bool over = done == CURLE_OK || (done == CURLE_WRITE_ERROR && sink.enough);
  if (!over) return failed(done, url, limit);
  HttpAnswer answer;
  (void)curl_.easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &answer.code);
  answer.body = std::move(sink.body);
  return answer;
}

Status HttpClient::failed(CURLcode code, const std::string& url, Duration limit) const {
  const std::string why = why_[0] != 0 ? why_ : curl_.easy_strerror(code);
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return {Code::kRetry, fmt::format("{}: {}", url, why)};
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
      return {Code::kUsage, fmt::format("{}: TLS was refused: {}", url, why)};
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return {Code::kUsage,
              fmt::format("{}: {}; expected files in PEM: a CA's '{}', a certificate '{}' and its key '{}'",
                          url, why, tls_.ca, tls_.cert, tls_.key)};
    case CURLE_OPERATION_TIMEDOUT: {
      double connected = 0;
      (void)curl_.easy_getinfo(handle_, CURLINFO_PRETRANSFER_TIME, &connected);
      if (connected == 0) return {Code::kRetry, fmt::format("{}: nobody was reached in time: {}", url, why)};
      return {Code::kTimeout, fmt::format("{}: no answer in {} ms", url, milliseconds(limit))};
    }
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      if (!url.starts_with("https:")) break;
      // With TLS 1.3 a refused certificate of ours shows like that.
      return {Code::kIo,
              fmt::format(
                  "{}: the connection was ended: {}; {}", url, why,
                  tls_.cert.empty()
                      ? "it may ask for a certificate, and was shown none (--state-cert, --state-key)"
                      : fmt::format("it may refuse the certificate '{}', as where that has expired or is of "
                                    "a CA that it does not know",
                                    tls_.cert))};
    default:
      break;
  }
  return {Code::kIo, fmt::format("{}: {}", url, why)};
}

}  // namespace thalweg
