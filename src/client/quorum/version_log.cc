// Grammar, all integers little-endian; record as in quorum/version.h:
//   log    := entry*, the first of which is a header, and no other
//   entry  := size:u32 check:u32 checksum:u64 body: of so many bytes, the size's hash, the body's hash
//   body   := 0:u8 magic:u64 cluster:u64 node:u32 life:u32 boot:text   header
//           | 1:u8 key:u64 record                                      all that there is of a key
//           | 2:u8 node:u32 key:u64 record                             a hint for a node; empty: none
//           | 3:u8                                                     the store is complete
#include "client/quorum/version_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/hash/hash.h"
#include "quorum/limits.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kVersionLogMagic = 0x32474f4c51574c54;  // "TLWQLOG2".
constexpr std::size_t kEntryHeadBytes = 16;
constexpr std::size_t kBootBytesMax = 256;
// A hint's record, or a home's, may hold what several coordinators took at once.
constexpr std::size_t kEntryBytesMax = quorum::kRecordBytesMax * (quorum::kReplicasMax + 1);
constexpr std::uint64_t kPastBytesMin = std::uint64_t{64}
                                        << 20;  // Of the past, before it is worth to begin anew.

enum class EntryKind : std::uint8_t { kHeader, kRecord, kHint, kComplete };

// By which a damaged size is told from an entry that was cut off.
std::uint32_t check_of(std::uint32_t size) { return static_cast<std::uint32_t>(hash64(&size, sizeof size)); }

}  // namespace

std::string boot_of_machine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

Result<std::unique_ptr<VersionLog>> VersionLog::open(Disk& disk, const std::string& directory, Owner owner) {
  const auto there = disk.look(directory);
  if (!there) return there.status();
  if (*there == Entry::kNothing) {
    if (Status status = disk.make_directory(directory); !status.ok()) return status;
  } else if (*there != Entry::kDirectory) {
    return Status{Code::kUsage,
                  fmt::format("{} is no directory; expected the one of a node's log", directory)};
  }
  auto claim = disk.claim(directory);
  if (!claim && claim.status().code() == Code::kRetry)
    return Status{Code::kUsage, fmt::format("another process has the node's log in {}", directory)};
  if (!claim) return claim.status();
  std::unique_ptr<VersionLog> log(new VersionLog(disk, directory, std::move(owner)));
  log->claim_ = *std::move(claim);
  if (Status status = log->read(); !status.ok()) return status;
  return log;
}

Status VersionLog::read() {
  const auto there = disk_.look(path());
  if (!there) return there.status();
  if (*there == Entry::kNothing) return ok_status();
  const auto file = disk_.open(path());
  if (!file) return file.status();
  const auto size = (*file)->size();
  if (!size) return size.status();
  bool first = true, damaged = false;
  std::vector<std::byte> body;
  std::uint64_t at = 0;
  while (at + kEntryHeadBytes <= *size && !damaged) {
    std::byte head[kEntryHeadBytes];
    if (Status status = (*file)->read_at(at, head); !status.ok()) return status;
    Reader lengths(std::span<const std::byte>(head, sizeof head));
    const auto bytes = lengths.get<std::uint32_t>();
    const bool sound = lengths.get<std::uint32_t>() == check_of(bytes);
    const auto checksum = lengths.get<std::uint64_t>();
    damaged = !sound || bytes == 0 || bytes > kEntryBytesMax;
    if (damaged || at + kEntryHeadBytes + bytes > *size) break;
    body.resize(bytes);
    if (Status status = (*file)->read_at(at + kEntryHeadBytes, body); !status.ok()) return status;
    damaged = hash64(body.data(), body.size()) != checksum;
    if (damaged) break;
    Reader in{std::span<const std::byte>(body)};
    Status refused;
    const bool taken = first ? take_header(in, refused) : take_entry(in);
    if (!refused.ok()) return refused;
    damaged = !taken || !in.done();
    first = false;
    if (!damaged) at += kEntryHeadBytes + bytes;
  }
  if (first)
    return {Code::kModel, fmt::format("{} is no log of a node of a ring, or of another version", path())};
  // A last entry that was cut off belongs to a turn of which nobody was told.
  if (damaged) damage_ = Damage{at, *size - at};
  whole_ = whole_ && !damaged;
  return ok_status();
}

bool VersionLog::take_header(Reader& in, Status& refused) {
  const auto kind = in.get<EntryKind>();
  if (kind != EntryKind::kHeader || in.get<std::uint64_t>() != kVersionLogMagic) {
    refused = {Code::kModel, fmt::format("{} is no log of a node of a ring, or of another version", path())};
    return false;
  }
  const auto cluster = in.get<std::uint64_t>();
  const auto node = in.get<std::uint32_t>();
  life_ = in.get<std::uint32_t>();
  whole_ = in.get_text(kBootBytesMax) == owner_.boot && !owner_.boot.empty();
  if (cluster != owner_.cluster || node != owner_.node) {
    refused = {
        Code::kUsage,
        fmt::format("{} is the log of node {} of {}, this is node {}; a ring that has other "
                    "nodes or counts begins with empty directories",
                    path(), node, cluster == owner_.cluster ? "this ring" : "another ring", owner_.node)};
  }
  return true;
}

bool VersionLog::take_entry(Reader& in) {
  switch (in.get<EntryKind>()) {
    case EntryKind::kRecord: {
      const auto key = in.get<Key>();
      records_[key] = quorum::get_record(in);
      return in.ok();
    }
    case EntryKind::kHint: {
      const auto target = in.get<std::uint32_t>();
      const auto key = in.get<Key>();
      quorum::Record hint = quorum::get_record(in);
      if (hint.empty()) {
        hints_.erase({target, key});
      } else {
        hints_[{target, key}] = std::move(hint);
      }
      return in.ok();
    }
    case EntryKind::kComplete:
      complete_ = true;
      return true;
    default:
      return false;
  }
}

std::string VersionLog::damage() const {
  if (!damage_) return {};
  return fmt::format(
      "{}: damaged at byte {}: it and all behind it, {} bytes, are left out, and got from other nodes where "
      "they have it; that log stays as {}",
      path(), damage_->at, damage_->bytes, damaged_path());
}

Status VersionLog::attach(quorum::VersionStore& store) {
  std::size_t left_out = 0;
  for (const auto& [key, record] : records_) {
    if (!store.is_home(key) || !store.merge(key, record)) ++left_out;
  }
  for (const auto& [whom, hint] : hints_) {
    if (!store.keep_hint(whom.first, whom.second, hint)) ++left_out;
  }
  if (left_out > 0) {
    return {Code::kUsage,
            fmt::format("{} entries of {} have no room; expected as many hints and as much memory as "
                        "when they were written",
                        left_out, path())};
  }
  records_.clear();
  hints_.clear();
  if (whole_ && complete_) store.set_complete();
  store_ = &store;
  life_ = store.life();
  if (Status status = begin_anew(damage_.has_value()); !status.ok()) return status;
  store.set_journal(this);
  return ok_status();
}

// With what the store has, under another name first: a crash leaves the old log or the new one.
Status VersionLog::begin_anew(bool keeps_old) {
  const std::string staged = directory_ + "/log.new";
  if (Status status = disk_.remove(staged); !status.ok()) return status;
  auto file = disk_.create(staged);
  if (!file) return file.status();
  file_ = *std::move(file);
  end_ = 0;
  Writer header;
  header.put(EntryKind::kHeader).put(kVersionLogMagic).put(owner_.cluster).put(owner_.node).put(life_);
  header.put_text(owner_.boot);
  append(header.take());
  for (const auto& [at, record] : store_->records()) note(unplace(at), record);
  for (const auto& [whom, hint] : store_->hints()) note_hint(whom.first, whom.second, &hint);
  if (store_->complete()) note_complete();
  if (status_.ok()) status_ = file_->sync();
  if (status_.ok() && keeps_old) status_ = disk_.replace(path(), damaged_path());
  if (status_.ok()) status_ = disk_.replace(staged, path());
  if (status_.ok()) status_ = disk_.sync_directory(directory_);
  return status_;
}

void VersionLog::tidy() {
  if (!status_.ok() || store_ == nullptr || end_ < kPastBytesMin + 3 * store_->bytes()) return;
  (void)begin_anew(false);  // Which status() tells.
}

void VersionLog::append(const Bytes& entry) {
  if (!status_.ok()) return;
  Writer out;
  const auto size = static_cast<std::uint32_t>(entry.size());
  out.put(size).put(check_of(size)).put(hash64(entry.span().data(), entry.size()));
  std::vector<std::byte> bytes;
  const Bytes head = out.take();
  bytes.reserve(head.size() + entry.size());
  bytes.insert(bytes.end(), head.span().begin(), head.span().end());
  bytes.insert(bytes.end(), entry.span().begin(), entry.span().end());
  status_ = file_->write_at(end_, bytes);
  if (status_.ok()) end_ += bytes.size();
}

void VersionLog::note(Key key, const quorum::Record& record) {
  Writer out;
  out.put(EntryKind::kRecord).put(key);
  quorum::put_record(out, record);
  append(out.take());
}

void VersionLog::note_hint(std::uint32_t target, Key key, const quorum::Record* hint) {
  Writer out;
  out.put(EntryKind::kHint).put(target).put(key);
  quorum::put_record(out, hint == nullptr ? quorum::Record() : *hint);
  append(out.take());
}

void VersionLog::note_complete() {
  Writer out;
  out.put(EntryKind::kComplete);
  append(out.take());
}

}  // namespace thalweg
