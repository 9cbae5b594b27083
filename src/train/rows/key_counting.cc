#include "train/rows/key_counting.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace thalweg {
namespace {

constexpr std::size_t kRowsCountedAtOnce = 1024;
constexpr std::uint32_t kPartsOfThread = 4;

// Bad rows are told by who learns from the others.
ReadOptions for_counting(ReadOptions options) {
  options.max_bad_rows = std::numeric_limits<std::uint64_t>::max();
  options.shuffle = {};
  options.hash_text = options.look_at_labels = false;
  return options;
}

}  // namespace

KeyCounting::KeyCounting(ReadOptions data, std::uint64_t width, std::uint32_t least)
    : options_(for_counting(std::move(data))), width_(width), least_(least) {}

KeyCounting::~KeyCounting() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

void KeyCounting::start() {
  std::call_once(started_, [this] { thread_ = std::thread([this] { run(); }); });
}

void KeyCounting::run() {
  const auto data = DataSet::open(options_);
  if (!data) {
    const std::lock_guard lock(mutex_);
    status_ = data.status();
  } else {
    counts_.emplace(width_);
    const std::uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
    const std::uint32_t parts = (*data)->has_random_access() ? cores * kPartsOfThread : 1;
    std::vector<std::thread> others;
    for (std::uint32_t i = 1; i < std::min(cores, parts); ++i)
      others.emplace_back([this, data = *data, parts] { count_parts(data, parts); });
    count_parts(*data, parts);
    for (std::thread& other : others) other.join();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  change_.notify_all();
}

void KeyCounting::count_parts(const std::shared_ptr<DataSet>& data, std::uint32_t parts) {
  for (std::uint32_t part = next_part_++; part < parts && !stopped_; part = next_part_++) {
    const Status status = count_part(*data, part, parts);
    const std::lock_guard lock(mutex_);
    if (!status.ok() && status_.ok()) status_ = status;
  }
}

Status KeyCounting::count_part(DataSet& data, std::uint32_t part, std::uint32_t parts) {
  const auto reader = data.reader(ShardId{part}, parts);
  if (!reader) return reader.status();
  Batch batch;
  while (!stopped_) {
    const auto rows = (*reader)->next(kRowsCountedAtOnce, batch);
    if (rows.status().code() == Code::kRetry) continue;
    if (!rows) return rows.status();
    if (*rows == 0) break;
    const std::lock_guard lock(mutex_);
    counts_->add(batch.keys);
  }
  return ok_status();
}

Status KeyCounting::wait(const std::function<bool()>& stop) {
  start();
  std::unique_lock lock(mutex_);
  while (!ended_) {
    change_.wait_for(lock, std::chrono::milliseconds(50));
    if (!ended_ && stop())
      return {Code::kAborted, "interrupted while features were counted; nothing is saved"};
  }
  return status_;
}

Status KeyCounting::status() {
  const std::lock_guard lock(mutex_);
  return status_;
}

void KeyCounting::drop_rare(Batch& batch) const {
  std::vector<std::uint8_t> counts(batch.keys.size());
  counts_->count(batch.keys, counts);
  std::uint32_t kept = 0, e = 0;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    for (const std::uint32_t end = batch.row_begin[row + 1]; e < end; ++e) {
      if (counts[e] < least_) continue;
      batch.keys[kept] = batch.keys[e];
      if (!batch.values.empty()) batch.values[kept] = batch.values[e];
      if (!batch.fields.empty()) batch.fields[kept] = batch.fields[e];
      ++kept;
    }
    batch.row_begin[row + 1] = kept;
  }
  batch.keys.resize(kept);
  if (!batch.values.empty()) batch.values.resize(kept);
  if (!batch.fields.empty()) batch.fields.resize(kept);
}

}  // namespace thalweg
