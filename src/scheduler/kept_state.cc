#include "scheduler/kept_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace thalweg {
namespace {

constexpr std::string_view kReports = "report/";

bool read_hex(std::string_view& text, std::uint32_t& out) {
  if (text.size() < 8) return false;
  const auto read = std::from_chars(text.data(), text.data() + 8, out, 16);
  if (read.ec != std::errc() || read.ptr != text.data() + 8) return false;
  text.remove_prefix(8);
  if (!text.empty() && text.front() == '.') text.remove_prefix(1);
  return true;
}

}  // namespace

// In the order of shards and numbers.
std::string report_key(ShardId shard, ReportId number) {
  return fmt::format("{}{:08x}.{:08x}.{:08x}", kReports, shard.value, number.epoch, number.index);
}

std::string writes_key(std::uint32_t lead) { return fmt::format("{}{:08x}", kLeadsPrefix, lead); }

Result<KeptState> take_lead(StateStore& store, std::uint32_t number) {
  const auto before = store.get(kTermKey);
  if (!before) return before.status();
  std::uint64_t term = 0;
  StateGuard guard{kTermKey, 0};
  if (const auto found = before->entries.find(kTermKey); found != before->entries.end()) {
    guard.revision = found->second.revision;
    const std::string& text = found->second.value;
    std::from_chars(text.data(), text.data() + text.size(), term);
  }
  const std::vector<StateGuard> guards = {guard, {writes_key(number), 0}};
  const std::vector<StateChange> changes = {{kTermKey, std::to_string(term + 1)}, {writes_key(number), "0"}};
  const auto led = store.swap(guards, changes);
  if (led.status().code() == Code::kStale)
    return Status(Code::kRetry, "another scheduler has taken the lead just now");
  if (!led) return led.status();
  const auto view = store.get("");
  if (!view) return view.status();
  KeptState kept;
  kept.lead = {kTermKey, *led};
  kept.last_write = {writes_key(number), *led};
  kept.number = number;
  constexpr std::uint64_t kTermsMax = wire::kFirstTemporary / 2;
  if (term >= kTermsMax) return Status(Code::kModel, fmt::format("the state has had {} schedulers", term));
  kept.before = static_cast<std::uint32_t>(term);
  for (const auto& [key, entry] : view->entries) {
    if (key == kJobKey) kept.image = entry.value;
    if (key == kBegunKey) kept.begun = entry.value;
    if (key.starts_with(kLeadsPrefix)) {
      std::string_view name = std::string_view(key).substr(kLeadsPrefix.size());
      std::uint32_t lead = 0, writes = 0;
      const char* const end = entry.value.data() + entry.value.size();
      const auto read = std::from_chars(entry.value.data(), end, writes);
      if (!read_hex(name, lead) || !name.empty() || read.ec != std::errc() || read.ptr != end)
        return Status(Code::kModel, fmt::format("the state has writes '{}' of '{}'", entry.value, key));
      if (lead != number) kept.earlier.push_back({lead, writes, entry.revision});
    }
    if (!key.starts_with(kReports)) continue;
    std::string_view rest = std::string_view(key).substr(kReports.size());
    KeptReport report;
    if (!read_hex(rest, report.shard.value) || !read_hex(rest, report.number.epoch) ||
        !read_hex(rest, report.number.index) || !rest.empty())
      return Status(Code::kModel,
                    fmt::format("the state has a report '{}', expected shard.epoch.index", key));
    report.text = entry.value;
    kept.reports.push_back(std::move(report));
  }
  std::ranges::sort(kept.earlier, {}, &EarlierLead::revision);
  return kept;
}

Status note_begun(StateStore& store, KeptState& kept, std::string when) {
  const StateChange change{kBegunKey, when};
  const auto noted = store.swap(std::span(&kept.lead, 1), std::span(&change, 1));
  if (noted) kept.begun = std::move(when);
  return noted.status();
}

// Its image goes last: until then it is known to be over.
Status forget_job(StateStore& store, KeptState& kept) {
  std::vector<StateChange> changes;
  const auto forget = [&] {
    const auto done = store.swap(std::span(&kept.lead, 1), changes);
    changes.clear();
    return done.status();
  };
  for (const KeptReport& report : kept.reports) {
    changes.push_back({report_key(report.shard, report.number), std::nullopt});
    if (changes.size() < kKeysAtOnce) continue;
    if (Status status = forget(); !status.ok()) return status;
  }
  changes.push_back({kJobKey, std::nullopt});
  if (Status status = forget(); !status.ok()) return status;
  kept.image.clear();
  kept.reports.clear();
  return ok_status();
}

}  // namespace thalweg
