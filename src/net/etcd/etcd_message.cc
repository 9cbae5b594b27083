#include "net/etcd/etcd_message.h"

#include <fmt/format.h>
#include <sodium.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

namespace thalweg::etcd {
namespace {

using Json = nlohmann::json;

// Of what is no answer, as it is shown.
constexpr std::size_t kShownBytes = 120;

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kShownBytes)) out += c >= ' ' && c <= '~' ? c : '.';
  return text.size() > kShownBytes ? out + "..." : out;
}

std::string base64(std::string_view bytes) {
  std::string out(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(out.data(), out.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  out.pop_back();  // The 0 at its end.
  return out;
}

// What goes wrong first decides; all that is read then is empty.
class Fields {
 public:
  explicit Fields(std::string_view what) : what_(what) {}
  void fail(std::string_view where, std::string_view expected) {
    if (status_.ok())
      status_ = {Code::kIo,
                 fmt::format("etcd's answer to {} cannot be read: '{}' is not {}", what_, where, expected)};
  }
  const Status& status() const { return status_; }

  // Null where it is absent.
  const Json* child(const Json& of, const char* name) {
    if (!of.is_object()) return fail(name, "in an object"), nullptr;
    const auto at = of.find(name);
    return at == of.end() || at->is_null() ? nullptr : &*at;
  }
  const Json& object(const Json& of, const char* name) {
    static const Json kEmpty = Json::object();
    return like(kEmpty, of, name, "an object");
  }
  const Json& list(const Json& of, const char* name) {
    static const Json kEmpty = Json::array();
    return like(kEmpty, of, name, "a list");
  }
  // Absent ones are 0, as the gateway leaves those out.
  std::uint64_t number(const Json& of, const char* name) {
    const Json* const at = child(of, name);
    if (at == nullptr) return 0;
    if (at->is_number_unsigned()) return at->get<std::uint64_t>();
    std::uint64_t out = 0;
    if (!at->is_string()) return fail(name, "a number"), 0;
    const auto& text = at->get_ref<const std::string&>();
    const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return fail(name, "a number"), 0;
    return out;
  }
  bool flag(const Json& of, const char* name) {
    const Json* const at = child(of, name);
    if (at == nullptr) return false;
    if (!at->is_boolean()) return fail(name, "true or false"), false;
    return at->get<bool>();
  }
  std::string text(const Json& of, const char* name) {
    const Json* const at = child(of, name);
    if (at == nullptr) return {};
    if (!at->is_string()) return fail(name, "a text"), std::string();
    return at->get_ref<const std::string&>();
  }
  std::string bytes(const Json& of, const char* name) {
    const std::string coded = text(of, name);
    std::string out(coded.size() / 4 * 3 + 3, '\0');
    std::size_t size = 0;
    if (sodium_base642bin(reinterpret_cast<unsigned char*>(out.data()), out.size(), coded.data(),
                          coded.size(), nullptr, &size, nullptr, sodium_base64_VARIANT_ORIGINAL) != 0)
      return fail(name, "base64"), std::string();
    out.resize(size);
    return out;
  }
  Header header(const Json& of) {
    const Json& at = object(of, "header");
    return {number(at, "cluster_id"), number(at, "revision")};
  }
  KeyValue entry(const Json& of) {
    return {bytes(of, "key"), bytes(of, "value"), number(of, "mod_revision")};
  }
  RangeAnswer range(const Json& of) {
    RangeAnswer answer{header(of), {}, flag(of, "more")};
    for (const Json& one : list(of, "kvs")) answer.found.push_back(entry(one));
    return answer;
  }

 private:
  // What is there, of the kind of `empty`, or else that.
  const Json& like(const Json& empty, const Json& of, const char* name, std::string_view kind) {
    const Json* const at = child(of, name);
    if (at == nullptr) return empty;
    if (at->type() != empty.type()) return fail(name, kind), empty;
    return *at;
  }

  std::string_view what_;
  Status status_;
};

// A whole answer, by `read`.
template <class Read>
auto read_whole(std::string_view what, std::string_view body, const Read& read)
    -> Result<decltype(read(std::declval<Fields&>(), std::declval<const Json&>()))> {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object())
    return Status(Code::kIo, fmt::format("what answers to {} is no etcd: '{}'", what, shown(body)));
  if (json.contains("error")) return error_of(0, body);
  Fields fields(what);
  auto answer = read(fields, json);
  if (!fields.status().ok()) return fields.status();
  if (answer.header.cluster == 0)
    return Status(Code::kIo,
                  fmt::format("what answers to {} is no etcd: '{}' has no header", what, shown(body)));
  return answer;
}

std::string joined(std::span<const std::string> parts) {
  std::string out;
  for (const std::string& part : parts) (out += out.empty() ? "" : ",") += part;
  return out;
}

// Operations below others count as one of those.
std::string grouped(const std::vector<std::string>& operations) {
  const std::span<const std::string> all(operations);
  if (all.size() <= kGroupOperations) return joined(all);
  std::string out;
  for (std::size_t at = 0; at < all.size(); at += kGroupOperations) {
    const auto group = all.subspan(at, std::min(kGroupOperations, all.size() - at));
    (out += out.empty() ? "" : ",") += fmt::format(R"({{"request_txn":{{"success":[{}]}}}})", joined(group));
  }
  return out;
}

}  // namespace

std::string put_of(std::string_view key, std::string_view value, std::uint64_t lease) {
  return fmt::format(R"({{"request_put":{{"key":"{}","value":"{}","lease":"{}"}}}})", base64(key),
                     base64(value), lease);
}

std::string delete_of(std::string_view begin, std::string_view end) {
  if (end.empty()) return fmt::format(R"({{"request_delete_range":{{"key":"{}"}}}})", base64(begin));
  return fmt::format(R"({{"request_delete_range":{{"key":"{}","range_end":"{}"}}}})", base64(begin),
                     base64(end));
}

std::string look_of(std::string_view key) {
  return fmt::format(R"({{"request_range":{{"key":"{}","keys_only":true}}}})", base64(key));
}

std::string guard_of(std::string_view key, std::uint64_t revision) {
  return fmt::format(R"({{"key":"{}","target":"MOD","result":"EQUAL","mod_revision":"{}"}})", base64(key),
                     revision);
}

std::string there_of(std::string_view key) {
  return fmt::format(R"({{"key":"{}","target":"VERSION","result":"GREATER","version":"0"}})", base64(key));
}

std::string swap_request(const std::vector<std::string>& guards, const std::vector<std::string>& made,
                         const std::vector<std::string>& otherwise) {
  return fmt::format(R"({{"compare":[{}],"success":[{}],"failure":[{}]}})", joined(guards), grouped(made),
                     joined(otherwise));
}

std::string range_request(std::string_view begin, std::string_view end, std::uint64_t revision,
                          std::size_t limit) {
  return fmt::format(R"({{"key":"{}","range_end":"{}","revision":"{}","limit":"{}"}})", base64(begin),
                     base64(end), revision, limit);
}

std::string watch_request(std::string_view begin, std::string_view end, std::uint64_t from_revision) {
  return fmt::format(R"({{"create_request":{{"key":"{}","range_end":"{}","start_revision":"{}"}}}})",
                     base64(begin), base64(end), from_revision);
}

std::string grant_request(std::int64_t seconds) { return fmt::format(R"({{"TTL":"{}"}})", seconds); }
std::string lease_request(std::uint64_t lease) { return fmt::format(R"({{"ID":"{}"}})", lease); }

Result<RangeAnswer> read_range(std::string_view body) {
  return read_whole("range", body, [](Fields& in, const Json& json) { return in.range(json); });
}

Result<SwapAnswer> read_swap(std::string_view body) {
  return read_whole("txn", body, [](Fields& in, const Json& json) {
    SwapAnswer answer{in.header(json), in.flag(json, "succeeded"), {}};
    if (answer.made) return answer;
    for (const Json& one : in.list(json, "responses"))
      answer.guards.push_back(in.range(in.object(one, "response_range")));
    return answer;
  });
}

Result<LeaseAnswer> read_grant(std::string_view body) {
  return read_whole("lease/grant", body, [](Fields& in, const Json& json) {
    LeaseAnswer answer{in.header(json), in.number(json, "ID"),
                       static_cast<std::int64_t>(in.number(json, "TTL"))};
    if (answer.lease == 0) in.fail("ID", "a lease");
    return answer;
  });
}

Result<LeaseAnswer> read_renewal(std::string_view body) {
  return read_whole("lease/keepalive", body, [](Fields& in, const Json& json) {
    const Json& result = in.object(json, "result");
    return LeaseAnswer{in.header(result), in.number(result, "ID"),
                       static_cast<std::int64_t>(in.number(result, "TTL"))};
  });
}

Result<WatchAnswer> read_watch(std::string_view line) {
  return read_whole("watch", line, [](Fields& in, const Json& json) {
    const Json& result = in.object(json, "result");
    WatchAnswer answer{in.header(result),
                       in.flag(result, "created"),
                       in.flag(result, "canceled"),
                       in.number(result, "compact_revision"),
                       {}};
    for (const Json& one : in.list(result, "events")) {
      const std::string type = in.text(one, "type");
      if (!type.empty() && type != "PUT" && type != "DELETE") in.fail("type", "PUT or DELETE");
      answer.events.push_back({type == "DELETE", in.entry(in.object(one, "kv"))});
    }
    return answer;
  });
}

Result<StatusAnswer> read_status(std::string_view body) {
  return read_whole("maintenance/status", body, [](Fields& in, const Json& json) {
    return StatusAnswer{in.header(json), in.text(json, "version")};
  });
}

Status error_of(long http_code, std::string_view body) {
  constexpr int kInvalidArgument = 3, kNotFound = 5, kPermissionDenied = 7, kExhausted = 8, kOutOfRange = 11,
                kUnauthenticated = 16;
  const Json json = Json::parse(body, nullptr, false);
  const auto told = [&](const Json& in) {
    const auto at = in.find("message");
    return at != in.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  const auto number = [&](const Json& in, const char* name) {
    const auto at = in.find(name);
    return at != in.end() && at->is_number_integer() ? at->get<std::int64_t>() : -1;
  };
  std::string message;
  std::int64_t code = -1;
  if (json.is_object()) {
    const auto inner = json.find("error");
    const bool streamed = inner != json.end() && inner->is_object();
    message = told(streamed ? *inner : json);
    code = streamed ? number(*inner, "grpc_code") : number(json, "code");
    if (inner != json.end() && inner->is_string() && message.empty()) message = inner->get<std::string>();
  }
  if (message.empty())
    return {Code::kIo,
            fmt::format("what answers is no etcd 3.4 or later: HTTP code {}, '{}'", http_code, shown(body))};
  const std::string text = "etcd says: " + shown(message);
  const bool large = message.find("larger than max") != std::string::npos;
  if (code == kExhausted && large) return {Code::kRetry, text};
  if (code == kNotFound) return {Code::kRefused, text};
  if (code == kOutOfRange) return {Code::kStale, text};
  if (code == kInvalidArgument || code == kPermissionDenied || code == kUnauthenticated)
    return {Code::kUsage, text};
  return {Code::kIo, text};
}

std::string end_of_prefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

}  // namespace thalweg::etcd
