#include "train/checkpoint/resume.h"

#include <fmt/format.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint/part_file.h"
#include "net/system_disk.h"

namespace thalweg {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLoadsUnderWay = 8;  // Of up to 4 MiB each.

// What a job may be given otherwise and come to the same rows: where files are, how rows are loaded, for how
// long it goes on, and what is for people.
constexpr const char* kMayDiffer[] = {"epochs", "loads", "loads_state", "reached", "fields_from"};

void drop_free(Json& job) {
  for (const char* name : kMayDiffer) job.erase(name);
  for (const char* data : {"train", "valid"}) {
    if (job.contains(data)) job[data].erase("paths");
  }
  if (job.contains("model")) job["model"].erase("script");  // Its hash counts.
}

// The members that differ, each with both values.
std::string differences(const Json& there, const Json& here) {
  const Json before = there.flatten(), now = here.flatten();
  std::string out;
  const auto add = [&](const std::string& name) {
    const auto text = [&](const Json& json) { return json.contains(name) ? json[name].dump() : "nothing"; };
    if (text(before) == text(now)) return;
    std::string shown = name.substr(1);
    for (char& c : shown) c = c == '/' ? '.' : c;
    out += fmt::format("{}{} is {}, there {}", out.empty() ? "" : "; ", shown, text(now), text(before));
  };
  for (const auto& item : now.items()) add(item.key());
  for (const auto& item : before.items()) {
    if (!now.contains(item.key())) add(item.key());
  }
  return out;
}

// A file's blocks of rows, or its other ones.
Result<std::vector<checkpoint::BlockPlace>> places_of(const File& file, std::size_t tables, bool states) {
  std::vector<checkpoint::BlockPlace> places;
  Status scanned = checkpoint::scan_blocks(file, tables, [&](const checkpoint::BlockPlace& place) {
    if (checkpoint::holds_state(place) == states) places.push_back(place);
    return ok_status();
  });
  if (!scanned.ok()) return scanned;
  return places;
}

Result<Pending> load_rows_of(ShardStore& store, const File& file, const checkpoint::BlockPlace& place,
                             const TableSpec& spec) {
  const auto block = checkpoint::read_rows(file, place, spec);
  if (!block) return block.status();
  const auto keys = block->rows.keys.as<std::uint64_t>();
  const auto rows = block->rows.values.as<float>();
  return store.load(place.table, place.range, {keys.begin(), keys.end()},
                    Rows(std::vector<float>(rows.begin(), rows.end())));
}

Result<Pending> load_state_of(ShardStore& store, const File& file, const checkpoint::BlockPlace& place) {
  const auto state = checkpoint::read_plain(file, place);
  if (!state) return state.status();
  return store.begin(place.table, place.range, std::string(state->text()));
}

Task<Status> load_part(ShardStore& store, const File& file, const std::vector<TableSpec>& tables,
                       bool states) {
  const auto places = places_of(file, tables.size(), states);
  if (!places) co_return places.status();
  std::deque<Pending> loads;
  for (std::size_t next = 0; next < places->size() || !loads.empty();) {
    if (next < places->size() && loads.size() < kLoadsUnderWay) {
      const checkpoint::BlockPlace& place = (*places)[next++];
      auto load = states ? load_state_of(store, file, place)
                         : load_rows_of(store, file, place, tables[place.table.value]);
      if (!load) co_return load.status();
      loads.push_back(*std::move(load));
      continue;
    }
    if (Status status = (co_await loads.front()).status; !status.ok()) co_return status;
    loads.pop_front();
  }
  co_return ok_status();
}

}  // namespace

Result<std::optional<ResumePoint>> find_resume(const CheckpointOptions& options,
                                               std::vector<std::string>& warnings) {
  const SystemDisk disk;
  if (options.resume.empty()) return std::optional<ResumePoint>();
  if (options.resume != "auto") {
    auto manifest = checkpoint::open(disk, options.resume);
    if (!manifest) return Status(manifest.status().code(), "--resume: " + manifest.status().message());
    if (Status whole = checkpoint::verify(disk, options.resume); !whole.ok())
      return Status(whole.code(), "--resume: " + whole.message());
    return std::optional(ResumePoint{options.resume, *std::move(manifest)});
  }
  if (options.directory.empty())
    return Status(Code::kUsage, "--resume auto needs --checkpoint DIR to look in");
  const auto found = disk.look(options.directory);
  if (!found) return found.status();
  if (*found == Entry::kNothing) return std::optional<ResumePoint>();
  auto all = checkpoint::list(disk, options.directory);
  if (!all) return all.status();
  for (auto one = all->rbegin(); one != all->rend(); ++one) {
    const Status whole = one->status.ok() ? checkpoint::verify(disk, one->path) : one->status;
    if (whole.ok()) return std::optional(ResumePoint{one->path, std::move(one->manifest)});
    warnings.push_back(fmt::format("{}; looking for an older checkpoint", whole.message()));
  }
  return std::optional<ResumePoint>();
}

Status check_same_training(const ResumePoint& from, const TrainSpec& spec, const std::string& inputs) {
  Json there = Json::parse(from.manifest.job, nullptr, false), here = Json::parse(to_text(spec));
  if (!there.is_object()) return {Code::kModel, from.path + ": what it was trained by cannot be read"};
  drop_free(there);
  drop_free(here);
  std::string differs = differences(there, here);
  if (from.manifest.inputs != inputs) {
    differs += fmt::format("{}the data is other data: its files differ in order, size or first rows",
                           differs.empty() ? "" : "; ");
  }
  if (differs.empty() && from.manifest.step.epoch >= spec.epochs)
    differs = fmt::format("epochs is {}, there {} are done", spec.epochs, from.manifest.step.epoch);
  if (const std::size_t reached = from.manifest.reached().size();
      differs.empty() && reached > 0 && reached != spec.shards)
    return {Code::kModel,
            fmt::format("{}: it is of {} data shards, expected {}", from.path, reached, spec.shards)};
  if (differs.empty()) return ok_status();
  return {Code::kUsage, fmt::format("--resume: this training is not that of {}: {}", from.path, differs)};
}

Task<Status> load_checkpoint(ShardStore& store, ResumePoint from, std::vector<TableSpec> tables) {
  const SystemDisk disk;
  for (const bool states : {false, true}) {  // What else is known of a range comes behind its last row.
    for (const checkpoint::Part& part : from.manifest.parts) {
      const auto file = disk.open(from.path + "/" + part.file);
      if (!file) co_return file.status();
      if (Status status = co_await load_part(store, **file, tables, states); !status.ok()) co_return status;
    }
  }
  co_return ok_status();
}

}  // namespace thalweg
