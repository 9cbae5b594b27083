#include "quorum/version.h"

#include <algorithm>

#include "base/hash/hash.h"
#include "base/planted.h"
#include "quorum/limits.h"

namespace thalweg::quorum {
namespace {

bool has_seen(const Version& version, const Dot& dot) {
  if (THALWEG_BUG(kDotsForgotten) && version.dot.actor == dot.actor && version.dot.count > dot.count)
    return true;
  return version.context.at(dot.actor) >= dot.count;
}

}  // namespace

bool Record::add(Version version) {
  const auto same = [&](const Version& own) { return own.dot == version.dot; };
  const auto newer = [&](const Version& own) { return has_seen(own, version.dot); };
  if (std::ranges::any_of(versions_, same) || std::ranges::any_of(versions_, newer)) return false;
  std::erase_if(versions_, [&](const Version& own) { return has_seen(version, own.dot); });
  versions_.insert(std::ranges::upper_bound(versions_, version.dot, {}, &Version::dot), std::move(version));
  return true;
}

bool Record::merge(const Record& other) {
  bool news = false;
  for (const Version& version : other.versions_) news = add(version) || news;
  return news;
}

std::vector<const Version*> Record::puts() const {
  std::vector<const Version*> out;
  for (const Version& version : versions_) {
    const bool again = version.put != 0 &&
                       std::ranges::any_of(out, [&](const Version* one) { return one->put == version.put; });
    if (!again) out.push_back(&version);
  }
  return out;
}

bool Record::has(PutName put) const {
  return put != 0 && std::ranges::count(versions_, put, &Version::put) > 0;
}

VectorClock Record::clock() const {
  VectorClock clock;
  for (const Version& version : versions_) {
    clock.merge(version.context);
    clock.see(version.dot.actor, version.dot.count);
  }
  return clock;
}

std::size_t Record::bytes() const {
  std::size_t bytes = 4;
  for (const Version& version : versions_)
    bytes += 32 + 16 * version.context.entries().size() + version.value.size();
  return bytes;
}

std::uint64_t Record::digest(Key key) const {
  if (versions_.empty()) return 0;
  std::vector<std::uint64_t> parts = {key};
  for (const Version& version : versions_) {
    parts.push_back(version.dot.actor);
    parts.push_back(version.dot.count);
    parts.push_back(hash64(version.value.span().data(), version.value.size()));
  }
  return std::max<std::uint64_t>(hash64(parts.data(), parts.size() * sizeof parts[0]), 1);
}

void put_clock(Writer& out, const VectorClock& clock) {
  out.put(static_cast<std::uint32_t>(clock.entries().size()));
  for (const auto& [actor, events] : clock.entries()) out.put(actor).put(events);
}

VectorClock get_clock(Reader& in) {
  VectorClock::Entries entries;
  const std::uint32_t count = in.get_count(kClockEntriesMax, 16);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto actor = in.get<VectorClock::Actor>();
    const auto events = in.get<std::uint64_t>();
    if (events == 0 || (!entries.empty() && actor <= entries.rbegin()->first)) in.fail();
    entries.emplace_hint(entries.end(), actor, events);
  }
  return VectorClock(std::move(entries));
}

void put_record(Writer& out, const Record& record) {
  out.put(static_cast<std::uint32_t>(record.versions().size()));
  for (const Version& version : record.versions()) {
    out.put(version.dot.actor).put(version.dot.count).put(version.put);
    put_clock(out, version.context);
    out.put_text(version.value.text());
  }
}

Record get_record(Reader& in) {
  Record record;
  const std::uint32_t count = in.get_count(kVersionsOfRecordMax, 32);
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    Version version;
    version.dot.actor = in.get<VectorClock::Actor>();
    version.dot.count = in.get<std::uint64_t>();
    version.put = in.get<PutName>();
    version.context = get_clock(in);
    version.value = Bytes::of(in.get_text(kValueBytesMax));
    if (version.dot.count == 0) in.fail();
    if (in.ok()) record.add(std::move(version));
  }
  return record;
}

}  // namespace thalweg::quorum
