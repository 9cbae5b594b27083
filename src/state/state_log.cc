// Grammar of a log, little-endian: begin:8*byte record*, of which the first holds all that there was.
//   record := mark:u32 bytes:u32 hash:u64 payload, the hash being that of its place in the file and the
//   payload payload := revision:u64 count:u32 (key:text bound:u8 set:u8 changed:u64 value:text)*count
// `bound`: to a lease; `changed`: by which revision.
#include "state/state_log.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/planted.h"

namespace thalweg::state {
namespace {

constexpr std::string_view kLogBegin = "THWSTAT1";
constexpr std::uint32_t kRecordMark = 0x5245434fu;
constexpr std::size_t kRecordHead = 16;
constexpr std::uint64_t kRecordBytesMax = std::uint64_t{1} << 30;
// Of one change of several keys.
constexpr std::size_t kChangeBytesMax = std::size_t{64} << 20;
constexpr std::size_t kKeyBytesMax = 1024;
constexpr std::uint64_t kGrownMin = std::uint64_t{1} << 20;
constexpr std::size_t kEventsKept = 1024;

std::uint64_t hash_at(std::uint64_t place, std::span<const std::byte> payload) {
  return XXH3_64bits_withSeed(payload.data(), payload.size(), place + 1);
}

struct RecordHead {
  std::uint32_t mark = 0, bytes = 0;
  std::uint64_t hash = 0;
};

// The payload of the whole record at `place`; empty: there is none.
std::optional<std::span<const std::byte>> record_at(std::span<const std::byte> log, std::uint64_t place) {
  if (log.size() - place < kRecordHead) return std::nullopt;
  RecordHead head;
  std::memcpy(&head, log.data() + place, sizeof head);
  if (head.mark != kRecordMark || log.size() - place - kRecordHead < head.bytes) return std::nullopt;
  const auto payload = log.subspan(place + kRecordHead, head.bytes);
  if (hash_at(place, payload) != head.hash) return std::nullopt;
  return payload;
}

std::vector<std::byte> record_of(std::uint64_t place, const Bytes& payload) {
  const RecordHead head{kRecordMark, static_cast<std::uint32_t>(payload.size()),
                        hash_at(place, payload.span())};
  std::vector<std::byte> out(kRecordHead + payload.size());
  std::memcpy(out.data(), &head, sizeof head);
  std::ranges::copy(payload.span(), out.begin() + kRecordHead);
  return out;
}

void put_item(Writer& out, const std::string& key, bool bound, const std::string* value,
              std::uint64_t changed) {
  out.put_text(key)
      .put(static_cast<std::uint8_t>(bound))
      .put(static_cast<std::uint8_t>(value != nullptr))
      .put(changed)
      .put_text(value != nullptr ? std::string_view(*value) : std::string_view());
}

}  // namespace

Result<std::unique_ptr<StateLog>> StateLog::open(Disk& disk, const std::string& directory,
                                                 const Clock& clock) {
  const std::string at = disk.resolve(directory);
  const auto found = disk.look(at);
  if (!found) return found.status();
  if (*found != Entry::kNothing && *found != Entry::kDirectory)
    return Status(Code::kIo, at + ": something is in the way, expected a directory for a scheduler's state");
  if (*found == Entry::kNothing) {
    if (Status made = disk.make_directory(at); !made.ok()) return made;
  }
  // Whoever made it may not have come so far.
  const std::string parent = at.substr(0, std::max<std::size_t>(at.rfind('/'), 1));
  if (Status kept = disk.sync_directory(parent); !kept.ok()) return kept;
  std::unique_ptr<StateLog> log(new StateLog(disk, at, clock));
  auto claim = disk.claim(at);
  if (claim) {
    log->claim_ = *std::move(claim);
  } else if (claim.status().code() == Code::kRetry) {
    return Status(Code::kUsage, at + ": another process keeps its state there");
  } else {
    return claim.status();
  }
  if (Status read = log->read(); !read.ok()) return read;
  return log;
}

Status StateLog::read() {
  const auto names = disk_.list(directory_);
  if (!names) return names.status();
  for (const std::string& name : *names) {
    if (!name.starts_with("log.")) continue;  // Begun, and never in place.
    if (Status removed = disk_.remove(directory_ + "/" + name); !removed.ok()) return removed;
  }
  if (std::ranges::count(*names, "log") > 0) {
    const auto file = disk_.open(path());
    if (!file) return file.status();
    const auto size = (*file)->size();
    if (!size) return size.status();
    std::vector<std::byte> log(*size);
    if (Status whole = (*file)->read_at(0, log); !whole.ok()) return whole;
    const auto end = take_records(log);
    if (!end) return end.status();
  }
  std::erase_if(entries_, [](const auto& entry) { return entry.second.lease != 0; });
  ++revision_;
  forgotten_ = revision_;
  auto staged = stage_anew();
  return staged ? put_in_place(*std::move(staged)) : staged.status();
}

// Where whole records end.
Result<std::uint64_t> StateLog::take_records(std::span<const std::byte> log) {
  const auto damaged = [&](std::uint64_t place, const std::string& what) {
    return Status(Code::kModel,
                  fmt::format("{}: damaged at byte {} of {}: {}", path(), place, log.size(), what));
  };
  if (log.size() < kLogBegin.size() || std::memcmp(log.data(), kLogBegin.data(), kLogBegin.size()) != 0)
    return damaged(0, "it does not begin as a scheduler's state does");
  std::uint64_t place = kLogBegin.size();
  while (place < log.size()) {
    const auto payload = record_at(log, place);
    if (!payload) break;
    if (!take_record(*payload)) return damaged(place, "a change that cannot be read");
    place += kRecordHead + payload->size();
  }
  if (place == kLogBegin.size()) return damaged(place, "what it began with is not whole");
  for (std::uint64_t later = place + 1; later + kRecordHead <= log.size(); ++later) {
    if (record_at(log, later))
      return damaged(place,
                     fmt::format("a change there is not whole, and one behind it is, at byte {}", later));
  }
  return place;
}

bool StateLog::take_record(std::span<const std::byte> payload) {
  Reader in(payload);
  revision_ = in.get<std::uint64_t>();
  constexpr std::size_t kItemBytes = 18;
  const std::uint32_t count = in.get_count(~0u, kItemBytes);
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    std::string key = in.get_text(kKeyBytesMax);
    const bool bound = in.get<std::uint8_t>() != 0, set = in.get<std::uint8_t>() != 0;
    const auto changed = in.get<std::uint64_t>();
    std::string value = in.get_text(kRecordBytesMax);
    if (set) {
      entries_[std::move(key)] = {{std::move(value), changed}, bound ? 1u : 0u};
    } else {
      entries_.erase(key);
    }
  }
  return in.done();
}

void StateLog::note(std::span<const StateChange> changes) {
  for (const StateChange& change : changes) events_.push_back({change, revision_});
  while (events_.size() > kEventsKept) {
    forgotten_ = events_.front().revision;
    while (!events_.empty() && events_.front().revision == forgotten_) events_.pop_front();
  }
}

// Makes a change that is already in memory last. A log that has no room to be written anew grows on.
Status StateLog::write(std::span<const StateChange> changes) {
  const bool anew = file_ == nullptr;
  if (anew || bytes_ > anew_at_) {
    auto staged = stage_anew();
    if (staged) return put_in_place(*std::move(staged));
    if (anew) return staged.status();
    anew_at_ = bytes_ + kGrownMin;
  }
  Status appended = append(changes);
  if (!appended.ok()) file_.reset();  // What a disk has of it is not known: it is not trusted again.
  return appended;
}

Status StateLog::append(std::span<const StateChange> changes) {
  Writer out;
  out.put(revision_).put(static_cast<std::uint32_t>(changes.size()));
  for (const StateChange& change : changes) {
    const auto held = entries_.find(change.key);
    const bool bound = held != entries_.end() && held->second.lease != 0;
    put_item(out, change.key, bound, change.value ? &*change.value : nullptr, revision_);
  }
  const std::vector<std::byte> record = record_of(bytes_, out.take());
  if (Status written = file_->write_at(bytes_, record); !written.ok()) return written;
  if (!THALWEG_BUG(kStateUnsynced)) {
    if (Status kept = file_->sync(); !kept.ok()) return kept;
  }
  bytes_ += record.size();
  return ok_status();
}

// All that there is, as the first record of a new file.
Result<StateLog::Staged> StateLog::stage_anew() {
  Writer out;
  out.put(revision_).put(static_cast<std::uint32_t>(entries_.size()));
  for (const auto& [key, held] : entries_)
    put_item(out, key, held.lease != 0, &held.entry.value, held.entry.revision);
  const std::vector<std::byte> record = record_of(kLogBegin.size(), out.take());
  const std::string path = fmt::format("{}.{:016x}", this->path(), disk_.draw());
  auto file = disk_.create(path);
  if (!file) return file.status();
  Status status = (*file)->write_at(0, std::as_bytes(std::span(kLogBegin)));
  if (status.ok()) status = (*file)->write_at(kLogBegin.size(), record);
  if (status.ok()) status = (*file)->sync();
  if (status.ok()) return Staged{path, *std::move(file), kLogBegin.size() + record.size()};
  (void)disk_.remove(path);  // At worst it is removed when the log is opened.
  return status;
}

// On an error it is not known which of the two files is the log.
Status StateLog::put_in_place(Staged staged) {
  file_.reset();
  if (Status placed = disk_.replace(staged.path, path()); !placed.ok()) {
    (void)disk_.remove(staged.path);
    return placed;
  }
  if (Status kept = disk_.sync_directory(directory_); !kept.ok()) return kept;
  file_ = std::move(staged.file);
  bytes_ = staged.bytes;
  anew_at_ = std::max(kGrownMin, 2 * bytes_);
  return ok_status();
}

Result<StateView> StateLog::get(std::string_view prefix) {
  if (Status ended = end_leases(); !ended.ok()) return ended;
  StateView view;
  view.revision = revision_;
  for (auto at = entries_.lower_bound(prefix); at != entries_.end() && at->first.starts_with(prefix); ++at)
    view.entries[at->first] = at->second.entry;
  return view;
}

Result<std::uint64_t> StateLog::swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                                     StateLease lease) {
  if (Status ended = end_leases(); !ended.ok()) return ended;
  if (lease != 0 && !leases_.contains(lease))
    return Status(Code::kRefused, fmt::format("lease {} has ended", lease));
  for (const StateGuard& guard : guards) {
    const auto held = entries_.find(guard.key);
    const std::uint64_t is = held == entries_.end() ? 0 : held->second.entry.revision;
    if (is != guard.revision)
      return Status(Code::kStale,
                    fmt::format("{} is of revision {}, expected {}", guard.key, is, guard.revision));
  }
  std::size_t bytes = 0;
  for (const StateChange& change : changes) {
    bytes += change.key.size() + (change.value ? change.value->size() : 0);
    if (change.key.empty() || change.key.size() > kKeyBytesMax)
      return Status(Code::kUsage,
                    fmt::format("a key has {} bytes, expected 1 to {}", change.key.size(), kKeyBytesMax));
  }
  if (bytes > kChangeBytesMax)
    return Status(Code::kUsage,
                  fmt::format("a change has {} bytes, expected at most {}", bytes, kChangeBytesMax));
  if (changes.empty()) return revision_;
  if (Status made = make(changes, lease); !made.ok()) return made;
  return revision_;
}

// As if nothing had been where a disk does not take it.
Status StateLog::make(std::span<const StateChange> changes, StateLease lease) {
  std::vector<std::pair<std::string, std::optional<Held>>> before;
  ++revision_;
  for (const StateChange& change : changes) {
    const auto held = entries_.find(change.key);
    before.emplace_back(change.key, held == entries_.end() ? std::nullopt : std::optional(held->second));
    if (change.value) {
      entries_[change.key] = {{*change.value, revision_}, lease};
    } else {
      entries_.erase(change.key);
    }
  }
  if (Status kept = write(changes); !kept.ok()) {
    --revision_;
    for (auto one = before.rbegin(); one != before.rend(); ++one) {
      if (one->second) {
        entries_[one->first] = *one->second;
      } else {
        entries_.erase(one->first);
      }
    }
    return kept;
  }
  note(changes);
  return ok_status();
}

Result<std::vector<StateEvent>> StateLog::watch(std::string_view prefix, std::uint64_t after, Duration) {
  if (Status ended = end_leases(); !ended.ok()) return ended;
  if (after < forgotten_)
    return Status(Code::kStale,
                  fmt::format("revisions up to {} are forgotten, expected one since", forgotten_));
  std::vector<StateEvent> events;
  for (const StateEvent& event : events_) {
    if (event.revision > after && event.change.key.starts_with(prefix)) events.push_back(event);
  }
  return events;
}

Result<StateLease> StateLog::grant(Duration length) {
  leases_[++last_lease_] = {length, clock_.now() + length};
  return last_lease_;
}

Status StateLog::renew(StateLease lease) {
  if (Status ended = end_leases(); !ended.ok()) return ended;
  const auto held = leases_.find(lease);
  if (held == leases_.end()) return {Code::kRefused, fmt::format("lease {} has ended", lease)};
  held->second.ends = clock_.now() + held->second.length;
  return ok_status();
}

Status StateLog::revoke(StateLease lease) { return leases_.contains(lease) ? end_lease(lease) : ok_status(); }

Status StateLog::end_leases() {
  std::vector<StateLease> over;
  for (const auto& [lease, its] : leases_) {
    if (clock_.now() >= its.ends) over.push_back(lease);
  }
  for (const StateLease lease : over) {
    if (Status ended = end_lease(lease); !ended.ok()) return ended;
  }
  return ok_status();
}

Status StateLog::end_lease(StateLease lease) {
  std::vector<StateChange> changes;
  for (const auto& [key, held] : entries_) {
    if (held.lease == lease) changes.push_back({key, std::nullopt});
  }
  if (!changes.empty()) {
    if (Status ended = make(changes, 0); !ended.ok()) return ended;
  }
  leases_.erase(lease);
  return ok_status();
}

}  // namespace thalweg::state
