#include "train/checkpoint/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint/part_file.h"
#include "net/system_disk.h"

namespace thalweg {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLoadsUnderWay = 8, kBlocksAhead = 4;  // Of up to 4 MiB each.

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

// A block of a checkpoint's files, on its way to a server.
struct FileBlock {
  const File* file = nullptr;
  checkpoint::BlockPlace place;
};

// What a server is told of a block: rows, or the state of a range.
struct ReadBlock {
  checkpoint::BlockPlace place;
  std::vector<std::uint64_t> keys;
  Rows rows;
  std::string state;
};

// All blocks of rows, or all others: of each file in turn, so that all servers have something to do.
Result<std::vector<FileBlock>> blocks_of(const std::vector<std::unique_ptr<File>>& files, std::size_t tables,
                                         bool states) {
  std::vector<std::vector<FileBlock>> by_file;
  std::size_t longest = 0;
  for (const auto& file : files) {
    std::vector<FileBlock>& blocks = by_file.emplace_back();
    Status scanned = checkpoint::scan_blocks(*file, tables, [&](const checkpoint::BlockPlace& place) {
      if (checkpoint::holds_state(place) == states) blocks.push_back({file.get(), place});
      return ok_status();
    });
    if (!scanned.ok()) return scanned;
    longest = std::max(longest, blocks.size());
  }
  std::vector<FileBlock> all;
  for (std::size_t at = 0; at < longest; ++at) {
    for (const auto& blocks : by_file) {
      if (at < blocks.size()) all.push_back(blocks[at]);
    }
  }
  return all;
}

Result<ReadBlock> read_block(const FileBlock& block, const TableSpec& spec) {
  ReadBlock out;
  out.place = block.place;
  if (checkpoint::holds_state(block.place)) {
    const auto state = checkpoint::read_plain(*block.file, block.place);
    if (!state) return state.status();
    out.state = state->text();
    return out;
  }
  auto read = checkpoint::read_rows(*block.file, block.place, spec);
  if (!read) return read.status();
  const auto keys = read->rows.keys.as<std::uint64_t>();
  out.keys.assign(keys.begin(), keys.end());
  out.rows = Rows(read->rows.values.owner(), read->rows.values.as<float>());
  return out;
}

// Reads and unpacks some blocks ahead of who loads them, each on a thread of its own.
class BlocksAhead {
 public:
  BlocksAhead(std::vector<FileBlock> blocks, const std::vector<TableSpec>& tables)
      : blocks_(std::move(blocks)), tables_(tables) {}

  bool over() const { return next_ == blocks_.size() && reading_.empty(); }
  // The next one. Precondition: !over().
  Result<ReadBlock> take() {
    while (next_ < blocks_.size() && reading_.size() < kBlocksAhead) {
      const FileBlock& block = blocks_[next_++];
      reading_.push_back(std::async(std::launch::async, [&block, &spec = tables_[block.place.table.value]] {
        return read_block(block, spec);
      }));
    }
    Result<ReadBlock> read = reading_.front().get();
    reading_.pop_front();
    return read;
  }

 private:
  std::vector<FileBlock> blocks_;
  const std::vector<TableSpec>& tables_;
  std::size_t next_ = 0;
  std::deque<std::future<Result<ReadBlock>>> reading_;
};

Pending load_block(ShardStore& store, ReadBlock block) {
  if (checkpoint::holds_state(block.place))
    return store.begin(block.place.table, block.place.range, std::move(block.state));
  return store.load(block.place.table, block.place.range, std::move(block.keys), std::move(block.rows));
}

Task<Status> load_blocks(ShardStore& store, BlocksAhead& blocks) {
  std::deque<Pending> loads;
  while (!blocks.over() || !loads.empty()) {
    if (!blocks.over() && loads.size() < kLoadsUnderWay) {
      auto block = blocks.take();
      if (!block) co_return block.status();
      loads.push_back(load_block(store, *std::move(block)));
      // What was asked leaves when the program waits.
      if (const Status status = (co_await store.yield()).status; !status.ok()) co_return status;
      continue;
    }
    if (const Status status = (co_await loads.front()).status; !status.ok()) co_return status;
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
  std::vector<std::unique_ptr<File>> files;
  for (const checkpoint::Part& part : from.manifest.parts) {
    auto file = disk.open(from.path + "/" + part.file);
    if (!file) co_return file.status();
    files.push_back(*std::move(file));
  }
  for (const bool states : {false, true}) {  // What else is known of a range comes behind its last row.
    auto blocks = blocks_of(files, tables.size(), states);
    if (!blocks) co_return blocks.status();
    BlocksAhead ahead(*std::move(blocks), tables);
    Status loaded = co_await load_blocks(store, ahead);
    if (!loaded.ok()) co_return loaded;
  }
  co_return ok_status();
}

}  // namespace thalweg
