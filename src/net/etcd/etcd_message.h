// What etcd's JSON gateway is asked and answers, without any input or output: keys and values in base64,
// 64-bit numbers as text. https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/status.h"

namespace thalweg::etcd {

struct Header {
  std::uint64_t cluster = 0;
  std::uint64_t revision = 0;  // Of the whole store.
};

struct KeyValue {
  std::string key;
  std::string value;
  std::uint64_t revision = 0;  // Which changed it last.
};

struct RangeAnswer {
  Header header;
  std::vector<KeyValue> found;
  bool more = false;  // There are others behind these.
};

struct SwapAnswer {
  Header header;
  bool made = false;
  std::vector<RangeAnswer> guards;  // Where it was not: what each guard's key is.
};

struct LeaseAnswer {
  Header header;
  std::uint64_t lease = 0;
  std::int64_t seconds = 0;  // 0: it has ended.
};

struct Event {
  bool gone = false;
  KeyValue entry;
};

struct WatchAnswer {
  Header header;
  bool created = false;
  bool canceled = false;
  std::uint64_t compacted = 0;  // Revisions before this one are forgotten.
  std::vector<Event> events;
};

struct StatusAnswer {
  Header header;
  std::string version;  // Such as "3.4.23".
};

// One operation of a transaction, in JSON.
std::string put_of(std::string_view key, std::string_view value, std::uint64_t lease);
std::string delete_of(std::string_view begin, std::string_view end);
std::string look_of(std::string_view key);  // At its revision alone.
// Holds while `key` was changed last by `revision`; 0: while there is none.
std::string guard_of(std::string_view key, std::uint64_t revision);
std::string there_of(std::string_view key);  // Holds while there is such a key.

// At most as many operations as etcd takes by its --max-txn-ops of 128, in groups below one another.
inline constexpr std::size_t kGroupOperations = 60;
inline constexpr std::size_t kOperationsMax = kGroupOperations * kGroupOperations;
std::string swap_request(const std::vector<std::string>& guards, const std::vector<std::string>& made,
                         const std::vector<std::string>& otherwise);
// Of `limit` keys at most, as of `revision`; 0: of the newest. `end` empty: of one key.
std::string range_request(std::string_view begin, std::string_view end, std::uint64_t revision,
                          std::size_t limit);
std::string watch_request(std::string_view begin, std::string_view end, std::uint64_t from_revision);
std::string grant_request(std::int64_t seconds);
std::string lease_request(std::uint64_t lease);  // To renew or revoke it.

// kIo: it is no such answer, and where it is not.
Result<RangeAnswer> read_range(std::string_view body);
Result<SwapAnswer> read_swap(std::string_view body);
Result<LeaseAnswer> read_grant(std::string_view body);
Result<LeaseAnswer> read_renewal(std::string_view body);
Result<WatchAnswer> read_watch(std::string_view line);
Result<StatusAnswer> read_status(std::string_view body);
// An answer that is an error by HTTP or by itself. kRefused: there is no such lease. kStale: the revision is
// compacted. kUsage: etcd will say the same again. kRetry: too large an answer was asked for. kIo: others.
Status error_of(long http_code, std::string_view body);

// The keys that begin with `prefix` end before this one; of no others a prefix is asked.
std::string end_of_prefix(std::string prefix);

}  // namespace thalweg::etcd
