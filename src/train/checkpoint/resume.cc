#include "train/checkpoint/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint/contents.h"
#include "checkpoint/part_file.h"
#include "net/system_disk.h"
#include "train/checkpoint/job_differences.h"

namespace thalweg {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLoadsUnderWay = 8, kBlocksAhead = 4;  // Of up to 4 MiB each.

// What a job may be given otherwise and come to the same rows: where files are, how rows are loaded, for how
// long it goes on, and what is for people.
constexpr const char* kMayDiffer[] = {"epochs",  "loads",       "loads_state",
                                      "reached", "fields_from", "shows_passes"};

Status of_resume(const Status& status) {
  return status.ok() ? status : Status(status.code(), "--resume: " + status.message());
}

void drop_free(Json& job) {
  for (const char* name : kMayDiffer) job.erase(name);
  for (const char* data : {"train", "valid"}) {
    if (job.contains(data)) job[data].erase("paths");
  }
  if (job.contains("model")) job["model"].erase("script");  // Its hash counts.
}

using checkpoint::Contents;

// What a server is told of a block: rows, or the state of a range.
struct ReadBlock {
  checkpoint::BlockPlace place;
  std::vector<std::uint64_t> keys;
  Rows rows;
  std::string state;
};

Result<ReadBlock> read_block(const Contents& contents, const Contents::Block& block) {
  ReadBlock out;
  out.place = block.place;
  if (checkpoint::holds_state(block.place)) {
    const auto state = checkpoint::read_plain(*block.file, block.place);
    if (!state) return state.status();
    out.state = state->text();
    return out;
  }
  auto read = contents.read(block);
  if (!read) return read.status();
  const auto keys = read->rows.keys.as<std::uint64_t>();
  out.keys.assign(keys.begin(), keys.end());
  out.rows = Rows(read->rows.values.owner(), read->rows.values.as<float>());
  return out;
}

// Reads and unpacks some blocks ahead of who loads them, each on a thread of its own.
class BlocksAhead {
 public:
  BlocksAhead(const Contents& contents, const std::vector<Contents::Block>& blocks)
      : contents_(contents), blocks_(blocks) {}

  bool over() const { return next_ == blocks_.size() && reading_.empty(); }
  // The next one. Precondition: !over().
  Result<ReadBlock> take() {
    while (next_ < blocks_.size() && reading_.size() < kBlocksAhead) {
      const Contents::Block& block = blocks_[next_++];
      reading_.push_back(std::async(std::launch::async,
                                    [&block, &contents = contents_] { return read_block(contents, block); }));
    }
    Result<ReadBlock> read = reading_.front().get();
    reading_.pop_front();
    return read;
  }

 private:
  const Contents& contents_;
  const std::vector<Contents::Block>& blocks_;
  std::size_t next_ = 0;
  std::deque<std::future<Result<ReadBlock>>> reading_;
};

Pending load_block(ShardStore& store, ReadBlock block) {
  if (checkpoint::holds_state(block.place))
    return store.begin(block.place.table, block.place.range, std::move(block.state));
  return store.load(block.place.table, block.place.range, std::move(block.keys), std::move(block.rows));
}

// Adds up in `rows` how many these were.
Task<Status> load_blocks(ShardStore& store, BlocksAhead& blocks, std::uint64_t& rows) {
  std::deque<Pending> loads;
  while (!blocks.over() || !loads.empty()) {
    if (!blocks.over() && loads.size() < kLoadsUnderWay) {
      auto block = blocks.take();
      if (!block) co_return of_resume(block.status());
      rows += block->keys.size();
      if (block->keys.empty() && !checkpoint::holds_state(block->place)) continue;
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

// Whether what is read of it can be told to be whole: checkpoints of before lack a hash for that.
bool can_look_later(const Disk& disk, const std::string& path) {
  const auto layers = checkpoint::open_layers(disk, path);
  if (!layers) return false;
  return std::ranges::all_of(*layers, [](const checkpoint::Layer& layer) {
    return std::ranges::none_of(layer.manifest.parts,
                                [](const checkpoint::Part& part) { return part.headers.empty(); });
  });
}

}  // namespace

Result<std::optional<ResumePoint>> find_resume(const CheckpointOptions& options, LooksAt looks_at,
                                               std::vector<PassedOver>& passed_over) {
  const SystemDisk disk;
  if (options.resume.empty()) return std::optional<ResumePoint>();
  if (options.resume != "auto") {
    auto manifest = checkpoint::open(disk, options.resume);
    if (!manifest) {
      const auto inside = checkpoint::list(disk, options.resume);
      if (!inside || inside->empty()) return of_resume(manifest.status());
      return Status(
          Code::kUsage,
          fmt::format("--resume: {} is a directory of checkpoints, expected one of them, such as {}",
                      options.resume, inside->back().path));
    }
    ResumePoint point{options.resume, *std::move(manifest), LooksAt::kLoad};
    if (looks_at == LooksAt::kFirst || !can_look_later(disk, options.resume)) {
      if (Status whole = look_at_all(point); !whole.ok()) return whole;
    }
    return std::optional(std::move(point));
  }
  if (options.directory.empty())
    return Status(Code::kUsage, "--resume auto needs --checkpoint DIR to look in");
  const auto found = disk.look(options.directory);
  if (!found) return found.status();
  if (*found == Entry::kNothing) return std::optional<ResumePoint>();
  auto all = checkpoint::list(disk, options.directory);
  if (!all) return all.status();
  for (auto one = all->rbegin(); one != all->rend(); ++one) {
    const LooksAt looks = can_look_later(disk, one->path) ? looks_at : LooksAt::kFirst;
    const bool now = one->status.ok() && looks == LooksAt::kFirst;
    const Status whole = now ? checkpoint::verify(disk, one->path) : one->status;
    if (whole.ok()) return std::optional(ResumePoint{one->path, std::move(one->manifest), looks});
    passed_over.push_back({one->step, whole.message() + "; looking for an older checkpoint"});
  }
  return std::optional<ResumePoint>();
}

Status look_at_all(ResumePoint& point) {
  if (point.looks_at == LooksAt::kFirst) return ok_status();
  Status whole = of_resume(checkpoint::verify(SystemDisk(), point.path));
  if (whole.ok()) point.looks_at = LooksAt::kFirst;
  return whole;
}

Status check_same_training(const ResumePoint& from, const TrainSpec& spec, const std::string& inputs) {
  Json there = Json::parse(from.manifest.job, nullptr, false), here = Json::parse(to_text(spec));
  if (!there.is_object()) return {Code::kModel, from.path + ": what it was trained by cannot be read"};
  drop_free(there);
  drop_free(here);
  std::string differs;
  if (!inputs.empty() && from.manifest.inputs != inputs)
    differs = "the data is other data: its files, or --valid's, differ in order, size or first rows";
  if (const std::string more = job_differences(there, here); !more.empty())
    differs += (differs.empty() ? "" : "; ") + more;
  if (differs.empty() && from.manifest.step.epoch >= spec.epochs)
    differs = fmt::format("--epochs is {}, and {} are done there", spec.epochs, from.manifest.step.epoch);
  if (const std::size_t reached = from.manifest.reached().size();
      differs.empty() && reached > 0 && reached != spec.shards)
    return {Code::kModel,
            fmt::format("{}: it is of {} data shards, expected {}", from.path, reached, spec.shards)};
  if (differs.empty()) return ok_status();
  return {Code::kUsage, fmt::format("--resume: this training is not that of {}: {}", from.path, differs)};
}

std::string text_of_inputs(std::uint64_t fingerprint) { return fmt::format("{:016x}", fingerprint); }

std::uint64_t inputs_of_text(const std::string& text) {
  std::uint64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out, 16);
  return read.ec == std::errc() && read.ptr == end ? out : 0;
}

Status check_same_job(const std::string& job, const TrainSpec& spec) {
  Json there = Json::parse(job, nullptr, false), here = Json::parse(to_text(spec));
  if (!there.is_object()) return {Code::kModel, "what the job that is kept there was told cannot be read"};
  for (Json* const each : {&there, &here}) {
    for (const char* name : {"loads", "loads_state", "reached"}) each->erase(name);
  }
  const std::string differs = job_differences(there, here);
  if (differs.empty()) return ok_status();
  return {Code::kUsage, "this training is not that of the job that is kept there: " + differs};
}

Task<Status> load_checkpoint(ShardStore& store, ResumePoint from, std::vector<TableSpec> tables) {
  const SystemDisk disk;
  const auto contents = Contents::open(disk, from.path);
  if (!contents) co_return of_resume(contents.status());
  const auto is_table = [](const checkpoint::TableRanges& there, const TableSpec& here) {
    return there.name == here.name && there.ranges == here.ranges;
  };
  if (!std::ranges::equal(contents->manifest().tables, tables, is_table))
    co_return Status(Code::kModel, from.path + ": it is of other tables, or of other key ranges");
  std::uint64_t rows = 0;
  for (const bool states : {false, true}) {  // What else is known of a range comes behind its last row.
    BlocksAhead ahead(*contents, states ? contents->states() : contents->rows());
    Status loaded = co_await load_blocks(store, ahead, rows);
    if (!loaded.ok()) co_return loaded;
  }
  if (rows == from.manifest.rows()) co_return ok_status();
  co_return Status(Code::kModel,
                   fmt::format("{}: it has {} rows, expected {}", from.path, rows, from.manifest.rows()));
}

}  // namespace thalweg
