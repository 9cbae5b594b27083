// The end of a training job: its tables are read from the servers and saved.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/barriers.h"
#include "base/hint.h"
#include "net/system_disk.h"
#include "train/advice/train_advice.h"
#include "train/rows/key_ages.h"
#include "train/saved/learnt_rows.h"
#include "train/saved/training_record.h"
#include "train/train_job.h"
#include "train/warm_start/scans_ahead.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kStepsTell = 16;  // Of a pass, by whose latter half a model is judged.

// Where a model goes that cannot be saved at `directory`: beside it, and if nothing can be written there, to
// other places that may lie on another disk.
std::vector<std::string> other_places(Disk& disk, const std::string& directory) {
  const std::filesystem::path asked = disk.resolve(directory);
  const std::string name = fmt::format("{}.recovered-{:016x}", asked.filename().string(), disk.draw());
  std::vector<std::string> places;
  for (const std::filesystem::path& parent :
       {asked.parent_path(), std::filesystem::path(disk.resolve(".")), std::filesystem::path("/tmp")}) {
    const std::string place = (parent / name).string();
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  }
  return places;
}

bool is_zero(std::span<const float> row) {
  return std::all_of(row.begin(), row.end(), [](float value) { return value == 0; });
}

// Whether a key without a row is as good as one whose row is 0.
bool may_be_zero(const TableSpec& spec) {
  return has_model_keys(spec) && spec.init.kind == InitSpec::Kind::kZero;
}

// Of a range of a table, the rows that stays(number, row) is not true of. Returns how many are gone.
template <class Stays>
std::uint64_t take_out(const Stays& stays, Answer& scanned) {
  if (scanned.keys.empty()) return 0;
  const std::size_t width = scanned.rows.size() / scanned.keys.size();
  std::vector<std::uint64_t> keys;
  std::vector<float> rows;
  for (std::size_t i = 0; i < scanned.keys.size(); ++i) {
    const auto row = scanned.rows.span().subspan(i * width, width);
    if (!stays(i, row)) continue;
    keys.push_back(scanned.keys[i]);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const std::uint64_t gone = scanned.keys.size() - keys.size();
  scanned.keys = std::move(keys);
  scanned.rows = Rows(std::move(rows));
  return gone;
}

std::uint64_t take_out_zeros(const TableSpec& spec, Answer& scanned) {
  return take_out([&](std::size_t, std::span<const float> row) { return !is_zero(row.first(spec.dim)); },
                  scanned);
}

// Of a range of a table, whose rows of ages are `aged`, the rows of keys that are old enough; those of the
// table of ages itself become ages. Returns how many are gone.
std::uint64_t take_out_expired(const KeyAges& ages, const Answer& aged, std::uint32_t expire_after,
                               const TableSpec& spec, Answer& scanned) {
  if (scanned.keys.empty()) return 0;
  const std::vector<double> steps = ages.ages(scanned.keys, aged.keys, aged.rows.span());
  if (is_ages_table(spec)) {
    std::vector<float> rows;
    for (const double age : steps) rows.insert(rows.end(), {KeyAges::kBefore, static_cast<float>(age)});
    scanned.rows = Rows(std::move(rows));
  }
  return take_out([&](std::size_t i, std::span<const float>) { return steps[i] < expire_after; }, scanned);
}

}  // namespace

// What reading rows for the model needs is there whoever trains it.
std::map<std::string, std::string> TrainJob::options_to_store() const {
  auto stored = options_.stored;
  const ReadOptions& read = spec().train;
  stored["model"] = spec().model.name;
  if (read.hash_bits != 0) stored.emplace("hash-bits", std::to_string(read.hash_bits));
  if (!read.interactions.empty()) stored.emplace("interactions", read.interactions);
  if (!read.label_column.empty()) stored.emplace("label-column", read.label_column);
  if (!read.weight_column.empty()) stored.emplace("weight-column", read.weight_column);
  const std::string& columns = read.known_columns.empty() ? read.columns : read.known_columns;
  if (!columns.empty()) stored["columns"] = columns;
  if (inputs_->train != nullptr)
    stored["ids"] = inputs_->train->format().ids;
  else if (start_ && !start_->ids().empty())
    stored["ids"] = start_->ids();
  if (spec().expire_after != 0) stored["expire-after"] = std::to_string(spec().expire_after);
  if (!read.value_scales.empty()) stored["value-scales"] = read.value_scales;
  return stored;
}

// What a place to save at cannot take, the next one may.
Task<Status> TrainJob::stage(ShardStore& store) {
  if (best_) {
    const Status kept = co_await stage_best(store);
    if (kept.code() != Code::kIo) co_return kept;
    say(TrainMessage::kWarning,
        kept.message() + "; until a later pass is better, nobody can take the job up with its best model");
  }
  const std::string& asked = options_.out;
  Staged staged;
  staged.disk = std::make_unique<SystemDisk>();
  saved_elsewhere_ = ok_status();  // Of a pass before.
  Status status;
  if (asked.empty()) {
    status = co_await collect(store, nullptr);
  } else {
    status = co_await stage_at(store, asked, staged);
  }
  if (status.code() == Code::kIo) status = co_await stage_elsewhere(store, status, staged);
  if (!status.ok()) co_return status;
  staged.epochs = epochs_.size();
  staged_.reset();  // Its writer goes before its disk.
  staged_ = std::move(staged);
  co_return ok_status();
}

Task<Status> TrainJob::stage_elsewhere(ShardStore& store, Status refused, Staged& staged) {
  std::string tried = refused.message();
  for (const std::string& place : other_places(*staged.disk, options_.out)) {
    say(TrainMessage::kWarning, fmt::format("{}; trying {}", tried, place));
    const Status status = co_await stage_at(store, place, staged);
    if (status.ok()) {
      saved_elsewhere_ = {Code::kIo,
                          fmt::format("{}; the model is saved at {} instead", refused.message(), place)};
    }
    if (status.code() != Code::kIo) co_return status;
    tried = status.message();
  }
  co_return with_hint({Code::kIo, fmt::format("{}; nor could the model be saved elsewhere, so it is lost: {}",
                                              refused.message(), tried)},
                      "make room, and run the job again");
}

Task<Status> TrainJob::stage_at(ShardStore& store, const std::string& place, Staged& staged) {
  auto writer = ModelWriter::create(*staged.disk, place);
  if (!writer) co_return writer.status();
  staged.writer = std::move(writer).value();
  staged.place = place;
  if (staged.kept) co_return co_await copy_tables(*staged.kept, *staged.writer, store);
  co_return co_await collect(store, staged.writer.get());
}

// The servers have the model of the last pass still: it can be written elsewhere, an earlier one cannot.
Task<Status> TrainJob::save(ShardStore& store) {
  if (!staged_) {
    if (Status status = co_await stage(store); !status.ok()) co_return status;
  }
  if (Status status = read_kept(); !status.ok()) co_return status;
  if (options_.out.empty()) co_return ok_status();
  if (Status status = co_await judge(store); !status.ok()) co_return status;
  if (!not_kept_.empty() || is_outdone()) {
    staged_->writer.reset();
    co_return ok_status();
  }
  if (Status status = co_await copy_kept(store); !status.ok()) co_return status;
  Status status = commit();
  const bool may_write_again = staged_->kept || staged_->epochs == epochs_.size();
  if (status.code() != Code::kIo || !may_write_again) co_return status;
  if (status = co_await stage_elsewhere(store, status, *staged_); !status.ok()) co_return status;
  co_return commit();
}

// Without held-out rows each row was scored before it was learnt, mostly by a model that had yet to learn;
// what is bad by that is measured once more.
Task<Status> TrainJob::judge(ShardStore& store) {
  if (options_.keep_bad) co_return ok_status();
  const Loss loss = spec().model.loss;
  const auto kept = kept_epochs();
  not_kept_ = nothing_weighed(kept);
  if (!not_kept_.empty()) co_return ok_status();
  not_kept_ = worse_than_chance(loss, kept);
  if (not_kept_.empty() || kept.back().has_valid) co_return ok_status();
  if (Status status = co_await measure_learnt_rows(store, *inputs_, learnt_); !status.ok()) co_return status;
  // Of a pipe of few rows nobody can say.
  if (!learnt_ && kept.back().steps < kStepsTell) not_kept_.clear();
  if (learnt_) not_kept_ = worse_than_chance("learnt rows'", loss, *learnt_);
  co_return ok_status();
}

Status TrainJob::commit() {
  const auto kept = kept_epochs();
  TrainingRecord record = training_record(spec(), inputs_->train.get());
  if (const auto best = best_epoch(spec().model.loss, epochs_)) record.best_epoch = first_known() + *best + 1;
  if (!kept.empty() && !kept.back().cut_short) record.kept_epoch = first_known() + kept.size();
  const auto digest = staged_->writer->commit(spec().model, options_to_store(), metrics(), std::move(record));
  if (!digest) return digest.status();
  digest_ = *digest;
  saved_to_ = staged_->place;
  return ok_status();
}

// Of several jobs, of which the best is saved.
bool TrainJob::is_outdone() const {
  if (!save_below_) return false;
  const auto kept = kept_epochs();
  return kept.empty() || !kept.back().has_valid ||
         !(mean_of(kept.back().valid.sums.loss, kept.back().valid) < *save_below_);
}

std::vector<EpochNumbers> TrainJob::kept_epochs() const {
  const std::size_t count = staged_ ? staged_->epochs : epochs_.size();
  return {epochs_.begin(), epochs_.begin() + static_cast<std::ptrdiff_t>(count)};
}

// Whether the pass just ended was the best is settled while the shards wait for the observer.
Task<Status> TrainJob::show_pass(ShardStore& store, std::uint32_t epoch) {
  const auto best = best_epoch(spec().model.loss, epochs_);
  const std::size_t newest = epochs_.size() - 1;
  if (*options_.keep_best && best == newest && newest >= shown_) {
    if (Status status = co_await stage(store); !status.ok()) co_return status;
  }
  if (options_.after_epoch) {
    if (Status status = co_await hear(store); !status.ok()) co_return status;
  }
  if (options_.patience != 0 && newest - best.value_or(0) >= options_.patience) enough_ = true;
  if (enough_) co_return ok_status();  // The end that is asked for lets the shards go.
  const Status shown = (co_await store.barrier(observers_barrier(epoch))).status;
  // Now it is known by whoever takes the job up which one is the best.
  if (shown.ok() && best_ && staged_ && !staged_->kept_at.empty()) forget_other_bests(staged_->kept_at);
  co_return shown;
}

// The thread of run() may be the one that has this turn.
Task<Status> TrainJob::hear(ShardStore& store) {
  constexpr auto kPatience = std::chrono::milliseconds(1);
  while (heard_ < epochs_.size() && !store.closing()) {
    if (const Status status = (co_await store.yield()).status; !status.ok()) co_return status;
    std::unique_lock lock(epochs_mutex_);
    heard_more_.wait_for(lock, kPatience, [this] { return heard_ >= epochs_.size(); });
  }
  co_return ok_status();
}

Task<Status> TrainJob::collect(ShardStore& store, ModelWriter* writer) {
  digest_ = model_rows_ = 0;  // Of an attempt to save that failed.
  for (std::uint16_t t = 0; t < tables_.size(); ++t) {
    if (Status status = co_await collect_table(store, TableId{t}, writer); !status.ok()) co_return status;
  }
  co_return ok_status();
}

// How many rows are 0 is known once all have been seen, and files say before their rows how many there are.
Task<Status> TrainJob::collect_table(ShardStore& store, TableId table, ModelWriter* writer) {
  const TableSpec& spec = tables_[table.value];
  const Answer counted = co_await store.count(table);
  if (!counted.status.ok()) co_return counted.status;
  const std::uint64_t all = spec.kind == TableSpec::Kind::kDense ? spec.rows : counted.keys.at(0);
  CollectedTable collected;
  collected.rows = all;
  Status status = co_await collect_rows(store, table, writer, collected);
  if (status.ok() && collected.left_out != 0) {
    if (writer != nullptr) status = writer->drop_table();
    collected = {all - collected.left_out, 0, 0};
    if (status.ok()) status = co_await collect_rows(store, table, writer, collected);
  }
  if (!status.ok()) co_return status;
  if (has_model_keys(spec)) model_rows_ += collected.rows;
  digest_ += table_part_of_digest(spec.name, collected.digest);
  co_return writer == nullptr ? ok_status() : writer->end_table();
}

Task<Status> TrainJob::collect_rows(ShardStore& store, TableId table, ModelWriter* writer,
                                    CollectedTable& out) {
  const TableSpec& spec = tables_[table.value];
  const bool dense = spec.kind == TableSpec::Kind::kDense;
  const std::uint32_t expire_after = dense ? 0 : this->spec().expire_after;
  const auto ages_table = TableId{static_cast<std::uint16_t>(tables_.size() - 1)};
  TableDigest digest(spec.dim);
  bool begun = false;
  ScansAhead scans(store, table, spec.ranges);
  ScansAhead ages(store, ages_table, expire_after == 0 ? std::uint16_t{0} : spec.ranges);
  for (std::uint16_t range = 0; range < spec.ranges; ++range) {
    Answer scanned = co_await scans.next();
    if (!scanned.status.ok()) co_return scanned.status;
    if (expire_after != 0) {
      const Answer aged = co_await ages.next();
      if (!aged.status.ok()) co_return aged.status;
      out.left_out += take_out_expired(KeyAges(epochs_, first_known()), aged, expire_after, spec, scanned);
    }
    if (scanned.keys.empty()) continue;
    const std::size_t width = scanned.rows.size() / scanned.keys.size();
    if (writer != nullptr && !begun) {
      if (Status status = writer->begin_table(spec, out.rows, width); !status.ok()) co_return status;
      begun = true;
    }
    if (options_.drop_zeros && may_be_zero(spec)) out.left_out += take_out_zeros(spec, scanned);
    if (writer != nullptr) {
      if (Status status = writer->append(scanned.keys, scanned.rows.span()); !status.ok()) co_return status;
      continue;
    }
    for (std::size_t i = 0; i < scanned.keys.size(); ++i) {
      const std::uint64_t key = scanned.keys[i];
      digest.add(dense ? key : unplace(key), scanned.rows.span().subspan(i * width, spec.dim));
    }
  }
  out.digest = begun ? writer->digest_of_table() : digest.sum();
  if (writer == nullptr || begun) co_return ok_status();
  co_return writer->begin_table(spec, out.rows, spec.dim);
}

}  // namespace thalweg
