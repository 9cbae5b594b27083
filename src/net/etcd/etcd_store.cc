// Keys of etcd: PREFIX/k/KEY holds a value or names its pieces, PREFIX/p/HEX_OF_KEY.ID.NUMBER is one of
// those.
#include "net/etcd/etcd_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <thread>

#include "net/real_clock.h"

namespace thalweg {
namespace {

constexpr std::size_t kEtcdKeyBytesMax = 1024;
constexpr std::size_t kGuardsMax = 16;
// Values in one request, which etcd refuses above 1.5 MB with all that is around them.
constexpr std::size_t kInlineBytesMax = std::size_t{64} << 10, kRequestBytes = std::size_t{768} << 10;
constexpr std::size_t kPageBytes = std::size_t{1} << 20, kPageKeysMax = 4096;
constexpr Duration kRetryPause = std::chrono::milliseconds(50), kRetryPauseMax = std::chrono::seconds(1);
constexpr Duration kGlance = std::chrono::milliseconds(500);  // For events that are there already.

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

}  // namespace

// Of one call, the newest of each key.
struct EtcdStore::Swap {
  struct Put {
    const std::string* value = nullptr;  // Null: it is to be no more.
    std::optional<etcd::Pieces> pieces;
  };
  std::span<const StateGuard> guards;
  std::map<std::string_view, Put> puts;
  StateLease lease = 0;
};

EtcdStore::EtcdStore(const EtcdPlace& place, EtcdLimits limits, std::unique_ptr<HttpClient> http)
    : place_(place), limits_(limits), http_(std::move(http)), random_(std::random_device{}()) {}

Result<std::unique_ptr<EtcdStore>> EtcdStore::open(const EtcdPlace& place, EtcdLimits limits) {
  auto http = HttpClient::make(place.tls);
  if (!http) return http.status();
  std::unique_ptr<EtcdStore> store(new EtcdStore(place, limits, *std::move(http)));
  if (Status usable = store->check_version(); !usable.ok()) return usable;
  return store;
}

Status EtcdStore::check_version() {
  const auto body = ask("/v3/maintenance/status", "{}", true);
  if (!body) return body.status();
  const auto status = etcd::read_status(*body);
  if (!status) return status.status();
  int major = 0, minor = 0;
  if (std::sscanf(status->version.c_str(), "%d.%d", &major, &minor) != 2 ||
      std::pair(major, minor) < std::pair(3, 4))
    return {Code::kUsage, fmt::format("{} is an etcd {}, expected 3.4 or later", place_.endpoints[endpoint_],
                                      status->version.empty() ? "of no version" : status->version)};
  return note(status->header, false);
}

EtcdStore::Asked EtcdStore::ask_one(const std::string& path, std::string_view body, Duration limit) {
  auto answer = http_->post(place_.endpoints[endpoint_] + path, body, limit);
  if (!answer) {
    const bool unreached = answer.status().code() == Code::kRetry;
    return {answer.status(), {}, unreached};
  }
  if (answer->code == 200) return {ok_status(), std::move(answer->body), false};
  const Status error = etcd::error_of(answer->code, answer->body);
  return {{error.code(), place_.endpoints[endpoint_] + ": " + error.message()}, {}, false};
}

Result<std::string> EtcdStore::ask(const std::string& path, const std::string& body, bool again) {
  if (!changed_.ok()) return changed_;
  const RealClock clock;
  const Instant deadline = clock.now() + limits_.call;
  Duration pause = kRetryPause;
  for (std::size_t tries = 1;; ++tries) {
    const Duration left = deadline - clock.now();
    Asked asked = ask_one(path, body, std::min(limits_.answer, std::max(left, kRetryPause)));
    if (asked.status.ok()) return std::move(asked.body);
    const Code code = asked.status.code();
    const bool open = code == Code::kIo || code == Code::kTimeout;
    // A certificate may be refused at one address and not at another one.
    const bool elsewhere = code == Code::kUsage && tries < place_.endpoints.size();
    if (!asked.unreached && !(open && again) && !elsewhere) {
      if (open) endpoint_ = (endpoint_ + 1) % place_.endpoints.size();
      return asked.status;
    }
    endpoint_ = (endpoint_ + 1) % place_.endpoints.size();
    const Duration jittered = pause / 2 + Duration(random_() % static_cast<std::uint64_t>(pause.count()));
    // What is left then is too little to tell more.
    if (clock.now() + jittered + limits_.answer / 2 >= deadline)
      return Status(asked.unreached ? Code::kIo : code, asked.status.message());
    if (tries % place_.endpoints.size() != 0) continue;
    std::this_thread::sleep_for(jittered);
    pause = std::min(2 * pause, kRetryPauseMax);
  }
}

Status EtcdStore::note(const etcd::Header& header, bool of_newest) {
  if (cluster_ == 0) cluster_ = header.cluster;
  if (header.cluster != cluster_)
    changed_ = {Code::kModel, fmt::format("{} is of etcd's cluster {:x}, expected {:x} as before",
                                          place_.endpoints[endpoint_], header.cluster, cluster_)};
  if (of_newest && header.revision < newest_)
    changed_ = {Code::kModel,
                fmt::format("etcd's revision went back from {} to {}", newest_, header.revision)};
  if (of_newest && changed_.ok()) newest_ = header.revision;
  return changed_;
}

std::string EtcdStore::head(std::string_view key) const { return fmt::format("{}/k/{}", place_.prefix, key); }
std::string EtcdStore::piece_prefix(std::string_view key) const {
  return fmt::format("{}/p/{}.", place_.prefix, hex(key));
}

// As many keys at a time as make about a page.
Result<etcd::RangeAnswer> EtcdStore::read_page(const std::string& begin, const std::string& end,
                                               std::uint64_t revision, std::size_t& limit) {
  for (;;) {
    const auto body = ask("/v3/kv/range", etcd::range_request(begin, end, revision, limit), true);
    if (body.status().code() == Code::kRetry && limit > 1) {
      limit = std::max<std::size_t>(1, limit / 4);
      continue;
    }
    if (!body) return body.status();
    auto answer = etcd::read_range(*body);
    if (!answer) return answer.status();
    if (Status same = note(answer->header, true); !same.ok()) return same;
    if (answer->more && answer->found.empty())
      return Status(Code::kIo, "etcd says that there is more, and gives none");
    if (body->size() < kPageBytes / 4) limit = std::min(2 * limit, kPageKeysMax);
    if (body->size() > kPageBytes) limit = std::max<std::size_t>(1, limit / 2);
    return answer;
  }
}

Result<StateView> EtcdStore::get(std::string_view prefix) {
  constexpr int kTries = 3;  // Its revision is compacted while it is read.
  for (int tries = 1;; ++tries) {
    auto view = read_view(prefix);
    if (view.status().code() != Code::kStale) return view;
    if (tries == kTries) return Status(Code::kRetry, view.status().message());
  }
}

Result<StateView> EtcdStore::read_view(std::string_view prefix) {
  StateView view;
  std::string begin = head(prefix);
  const std::string end = etcd::end_of_prefix(begin);
  const std::size_t root = head("").size();
  std::size_t limit = 16;
  for (bool more = true; more;) {
    auto page = read_page(begin, end, view.revision, limit);
    if (!page) return page.status();
    if (view.revision == 0) view.revision = page->header.revision;
    for (etcd::KeyValue& one : page->found) {
      if (one.key.size() < root) return Status(Code::kIo, "etcd gives keys that it was not asked for");
      const std::string key = one.key.substr(root);
      view.entries[key] = {std::move(one.value), one.revision};
    }
    more = page->more;
    if (more) begin = page->found.back().key + '\0';
  }
  for (auto& [key, entry] : view.entries) {
    auto value = read_value(key, entry.value, view.revision);
    if (!value) return value.status();
    entry.value = *std::move(value);
  }
  return view;
}

// As of `revision`.
Result<std::string> EtcdStore::read_value(std::string_view key, std::string_view kept,
                                          std::uint64_t revision) {
  auto found = etcd::decode_kept(kept);
  if (!found)
    return Status(Code::kModel,
                  fmt::format("the value of etcd's key {} was not written by a scheduler", head(key)));
  if (!found->pieces) return std::move(found->value);
  std::string begin = piece_prefix(key) + fmt::format("{:016x}.", found->pieces->id);
  const std::string end = etcd::end_of_prefix(begin);
  std::string value;
  std::size_t limit = 2;
  for (bool more = true; more && value.size() <= found->pieces->bytes;) {
    const auto page = read_page(begin, end, revision, limit);
    if (!page) return page.status();
    for (const etcd::KeyValue& one : page->found) value += one.value;
    more = page->more;
    if (more) begin = page->found.back().key + '\0';
  }
  if (!is_whole(*found->pieces, value))
    return Status(Code::kModel,
                  fmt::format("the pieces of etcd's key {} have {} bytes, expected the {} that were written",
                              head(key), value.size(), found->pieces->bytes));
  return value;
}

Result<std::uint64_t> EtcdStore::swap(std::span<const StateGuard> guards,
                                      std::span<const StateChange> changes, StateLease lease) {
  Swap swap{guards, {}, lease};
  std::size_t bytes = 0, inline_bytes = 0;
  std::multimap<std::size_t, Swap::Put*, std::greater<>> by_size;
  for (const StateChange& change : changes) {
    if (change.key.empty() || change.key.size() > kEtcdKeyBytesMax)
      return Status(Code::kUsage,
                    fmt::format("a key has {} bytes, expected 1 to {}", change.key.size(), kEtcdKeyBytesMax));
    bytes += change.key.size() + (change.value ? change.value->size() : 0);
    swap.puts[change.key] = {change.value ? &*change.value : nullptr, std::nullopt};
  }
  if (bytes > etcd::kValueBytesMax)
    return Status(Code::kUsage,
                  fmt::format("a change has {} bytes, expected at most {}", bytes, etcd::kValueBytesMax));
  if (swap.puts.size() > kKeysMax || guards.size() > kGuardsMax)
    return Status(Code::kUsage, fmt::format("a change has {} keys and {} guards, expected at most {} and {}",
                                            swap.puts.size(), guards.size(), kKeysMax, kGuardsMax));
  for (auto& [key, put] : swap.puts) {
    if (put.value == nullptr) continue;
    by_size.emplace(put.value->size(), &put);
    inline_bytes += put.value->size();
  }
  for (const auto& [size, put] : by_size) {
    if (size == 0 || (size <= kInlineBytesMax && inline_bytes <= kRequestBytes)) break;
    put->pieces = etcd::pieces_of(random_(), *put->value);
    inline_bytes -= size;
  }
  if (Status written = put_pieces(swap); !written.ok()) return written;
  std::vector<std::string> there, operations;
  for (const auto& [key, put] : swap.puts) {
    const std::string pieces = piece_prefix(key), pieces_end = etcd::end_of_prefix(pieces);
    if (!put.pieces) {
      operations.push_back(put.value == nullptr
                               ? etcd::delete_of(head(key), {})
                               : etcd::put_of(head(key), etcd::encode_value(*put.value), lease));
      operations.push_back(etcd::delete_of(pieces, pieces_end));
      continue;
    }
    const std::string own = pieces + fmt::format("{:016x}.", put.pieces->id);
    operations.push_back(etcd::put_of(head(key), etcd::encode_pieces(*put.pieces), lease));
    operations.push_back(etcd::delete_of(pieces, own));
    operations.push_back(etcd::delete_of(etcd::end_of_prefix(own), pieces_end));
    if (there.size() < kGuardsMax) there.push_back(etcd::there_of(own + "00000000"));
  }
  return make(swap, there, operations);
}

// As many at a time as a request takes.
Status EtcdStore::put_pieces(const Swap& swap) {
  std::vector<std::string> operations;
  std::size_t bytes = 0;
  const auto write = [&] {
    const Status made = make(swap, {}, operations).status();
    operations.clear();
    bytes = 0;
    return made;
  };
  for (const auto& [key, put] : swap.puts) {
    if (!put.pieces) continue;
    const std::string own = piece_prefix(key) + fmt::format("{:016x}.", put.pieces->id);
    for (std::uint32_t number = 0; number < put.pieces->count; ++number) {
      const std::string_view piece = etcd::piece(*put.value, number);
      if (bytes + piece.size() > kRequestBytes || operations.size() == etcd::kGroupOperations) {
        if (Status made = write(); !made.ok()) return made;
      }
      operations.push_back(etcd::put_of(own + fmt::format("{:08x}", number), piece, swap.lease));
      bytes += piece.size();
    }
  }
  return operations.empty() ? ok_status() : write();
}

Result<std::uint64_t> EtcdStore::make(const Swap& swap, std::span<const std::string> more_guards,
                                      const std::vector<std::string>& operations) {
  std::vector<std::string> guards(more_guards.begin(), more_guards.end()), otherwise;
  for (const StateGuard& guard : swap.guards) {
    guards.push_back(etcd::guard_of(head(guard.key), guard.revision));
    otherwise.push_back(etcd::look_of(head(guard.key)));
  }
  const auto body = ask("/v3/kv/txn", etcd::swap_request(guards, operations, otherwise), false);
  if (body.status().code() == Code::kRefused)
    return Status(Code::kRefused, fmt::format("lease {} has ended", swap.lease));
  if (!body) return body.status();
  const auto answer = etcd::read_swap(*body);
  if (!answer) return answer.status();
  if (Status same = note(answer->header, true); !same.ok()) return same;
  if (answer->made) return answer->header.revision;
  for (std::size_t i = 0; i < swap.guards.size() && i < answer->guards.size(); ++i) {
    const auto& found = answer->guards[i].found;
    const std::uint64_t is = found.empty() ? 0 : found.front().revision;
    if (is != swap.guards[i].revision)
      return Status(Code::kStale, fmt::format("{} is of revision {}, expected {}", swap.guards[i].key, is,
                                              swap.guards[i].revision));
  }
  return Status(Code::kRetry, "another one changes the same keys");
}

Result<std::vector<StateEvent>> EtcdStore::watch(std::string_view prefix, std::uint64_t after,
                                                 Duration wait) {
  if (!changed_.ok()) return changed_;
  const std::string begin = head(prefix),
                    request = etcd::watch_request(begin, etcd::end_of_prefix(begin), after + 1);
  const std::size_t root = head("").size();
  std::string read;
  Result<etcd::WatchAnswer> told{etcd::WatchAnswer()};
  bool created = false;
  const auto on_line = [&](std::string_view line) {
    told = etcd::read_watch(line);
    if (!told) return false;
    created |= told->created;
    return !told->canceled && told->events.empty() &&
           !(wait <= Duration{0} && told->header.revision <= after);
  };
  const auto on_piece = [&](std::string_view piece) {
    read += piece;
    if (read.size() > HttpClient::kAnswerBytesMax) {
      told = Status(Code::kIo, "etcd's answer to watch has more bytes than are taken");
      return false;
    }
    for (std::size_t end; (end = read.find('\n')) != std::string::npos; read.erase(0, end + 1)) {
      if (end > 0 && !on_line(std::string_view(read).substr(0, end))) return false;
    }
    return true;
  };
  const auto answer =
      http_->post(place_.endpoints[endpoint_] + "/v3/watch", request, std::max(wait, kGlance), on_piece);
  if (!told) return told.status();
  const bool in_time = answer.ok() || (answer.status().code() == Code::kTimeout && created);
  if (!in_time) {
    endpoint_ = (endpoint_ + 1) % place_.endpoints.size();
    return answer.status();
  }
  if (answer && answer->code != 200) return etcd::error_of(answer->code, read);
  if (told->header.cluster != 0) {
    if (Status same = note(told->header, false); !same.ok()) return same;
  }
  if (told->canceled)
    return told->compacted > after
               ? Status(Code::kStale,
                        fmt::format("revisions before {} are forgotten, expected one since", told->compacted))
               : Status(Code::kIo, "etcd has ended the watch");
  std::vector<StateEvent> events;
  for (const etcd::Event& event : told->events) {
    if (event.entry.key.size() < root || event.entry.revision <= after)
      return Status(Code::kIo, "etcd tells of what it was not asked for");
    StateEvent& one = events.emplace_back();
    one.revision = event.entry.revision;
    one.change.key = event.entry.key.substr(root);
    if (event.gone) continue;
    auto value = read_value(one.change.key, event.entry.value, one.revision);
    if (!value) return value.status();
    one.change.value = *std::move(value);
  }
  return events;
}

Result<StateLease> EtcdStore::grant(Duration length) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(length).count();
  const auto body = ask("/v3/lease/grant", etcd::grant_request(std::max<std::int64_t>(1, seconds)), true);
  if (!body) return body.status();
  const auto answer = etcd::read_grant(*body);
  if (!answer) return answer.status();
  if (Status same = note(answer->header, false); !same.ok()) return same;
  return StateLease{answer->lease};
}

Status EtcdStore::renew(StateLease lease) {
  const Status ended(Code::kRefused, fmt::format("lease {} has ended", lease));
  const auto body = ask("/v3/lease/keepalive", etcd::lease_request(lease), true);
  if (!body) return body.status().code() == Code::kRefused ? ended : body.status();
  const auto answer = etcd::read_renewal(*body);
  if (!answer) return answer.status();
  if (Status same = note(answer->header, false); !same.ok()) return same;
  return answer->seconds > 0 ? ok_status() : ended;
}

Status EtcdStore::revoke(StateLease lease) {
  const auto body = ask("/v3/lease/revoke", etcd::lease_request(lease), true);
  return body.status().code() == Code::kRefused ? ok_status() : body.status();
}

}  // namespace thalweg
