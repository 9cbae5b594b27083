#include "net/etcd/etcd_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/socket/address.h"

namespace thalweg {
namespace {

constexpr std::string_view kPlain = "etcd://", kSecure = "etcds://";
constexpr std::string_view kForm = "expected etcd://HOST:PORT[,HOST:PORT...]/PREFIX, or etcds://";
constexpr std::size_t kPrefixBytesMax = 200, kEndpointsMax = 16;

Status misplaced(std::string_view text, std::string_view why) {
  return {Code::kUsage, fmt::format("{}: {}, {}", text, why, kForm)};
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-/").find(c) != std::string_view::npos;
}

}  // namespace

bool is_etcd_place(std::string_view text) { return text.starts_with(kPlain) || text.starts_with(kSecure); }

Result<EtcdPlace> parse_etcd_place(std::string_view text, const StateTls& tls) {
  const bool secure = text.starts_with(kSecure);
  if (!is_etcd_place(text)) return misplaced(text, "no place in an etcd");
  if (!secure && tls != StateTls()) return misplaced(text, "certificates are for etcds://");
  if (tls.cert.empty() != tls.key.empty())
    return misplaced(text, "a certificate needs its key, and the other way round");
  const std::string_view rest = text.substr(secure ? kSecure.size() : kPlain.size());
  const std::size_t slash = rest.find('/');
  EtcdPlace place;
  place.tls = tls;
  place.prefix = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  while (place.prefix.ends_with('/')) place.prefix.pop_back();
  if (place.prefix.empty()) return misplaced(text, "it has no prefix, by which jobs are told apart");
  if (place.prefix.size() > kPrefixBytesMax || !std::ranges::all_of(place.prefix, is_name) ||
      place.prefix.starts_with('/') || place.prefix.find("//") != std::string::npos)
    return misplaced(text, fmt::format("the prefix is not of 1 to {} of [A-Za-z0-9._/-]", kPrefixBytesMax));
  for (const std::string& endpoint : addresses_in(rest.substr(0, slash))) {
    if (!parse_host_port(endpoint)) return misplaced(text, fmt::format("'{}' is no address", endpoint));
    place.endpoints.push_back((secure ? "https://" : "http://") + endpoint);
  }
  if (place.endpoints.size() > kEndpointsMax)
    return misplaced(text,
                     fmt::format("{} addresses are more than {}", place.endpoints.size(), kEndpointsMax));
  return place;
}

}  // namespace thalweg
