#include "train/saved/model_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/hint.h"
#include "train/saved/copy_tables.h"

namespace thalweg {
namespace {

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

}  // namespace

void ModelStage::set(Staged staged) {
  staged_.reset();  // Its writer goes before its disk.
  staged_ = std::move(staged);
}

void ModelStage::keep(std::string place, std::size_t passes) {
  Staged staged;
  staged.passes = passes;
  staged.kept_at = std::move(place);
  set(std::move(staged));
}

void ModelStage::go_on_with(const std::string& model, std::uint64_t number, std::size_t passes) {
  keep(brought_along(model, number), passes);
}

std::string ModelStage::brought_along(const std::string& model, std::uint64_t number) {
  const auto directory_of = [](const std::string& path) { return std::filesystem::path(path).parent_path(); };
  if (!best_ || directory_of(model) == directory_of(best_->place(number))) return model;
  const Status copied = best_->take_in(model, number);
  if (copied.ok()) return best_->place(number);
  job_.say(TrainMessage::kWarning, copied.message());
  return model;
}

void ModelStage::forget_other_bests(const std::set<std::uint64_t>& numbers) {
  best_->forget_others(is_kept() ? staged_->kept_at : "", numbers);
}

std::vector<EpochNumbers> ModelStage::passes() const {
  const std::vector<EpochNumbers>& all = job_.passes.all();
  const std::size_t count = staged_ ? staged_->passes : all.size();
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

// What a place to save at cannot take, the next one may.
Task<Status> ModelStage::stage(ShardStore& store) {
  if (best_) {
    const Status kept = co_await stage_best(store);
    if (kept.code() != Code::kIo) co_return kept;
    job_.say(
        TrainMessage::kWarning,
        kept.message() + "; until a later pass is better, nobody can take the job up with its best model");
  }
  const std::string& asked = job_.options.out;
  Staged staged;
  saved_elsewhere_ = ok_status();  // Of a pass before.
  Status status;
  if (asked.empty()) {
    status = co_await collect(store, nullptr);
  } else {
    status = co_await stage_at(store, asked, staged);
  }
  if (status.code() == Code::kIo) status = co_await stage_elsewhere(store, status, staged);
  if (!status.ok()) co_return status;
  staged.passes = job_.passes.all().size();
  set(std::move(staged));
  co_return ok_status();
}

Task<Status> ModelStage::stage_best(ShardStore& store) {
  Staged staged;
  const std::size_t passes = job_.passes.all().size();
  const std::string place = best_->place(job_.passes.number(passes - 1));
  if (Status status = co_await stage_at(store, place, staged); !status.ok()) co_return status;
  const auto kept = staged.writer->commit(job_.spec.model, job_.stored, {});
  if (!kept) co_return kept.status();
  keep(place, passes);
  co_return ok_status();
}

Task<Status> ModelStage::stage_elsewhere(ShardStore& store, Status refused, Staged& staged) {
  std::string tried = refused.message();
  for (const std::string& place : other_places(*staged.disk, job_.options.out)) {
    job_.say(TrainMessage::kWarning, fmt::format("{}; trying {}", tried, place));
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

Task<Status> ModelStage::stage_at(ShardStore& store, const std::string& place, Staged& staged) {
  auto writer = ModelWriter::create(*staged.disk, place);
  if (!writer) co_return writer.status();
  staged.writer = std::move(writer).value();
  staged.place = place;
  if (staged.kept) co_return co_await copy_tables(*staged.kept, *staged.writer, store);
  co_return co_await collect(store, staged.writer.get());
}

Task<Status> ModelStage::collect(ShardStore& store, ModelWriter* writer) {
  const LeftOut left_out{job_.options.drop_zeros, job_.spec.expire_after, job_.passes.all(),
                         job_.passes.first()};
  co_return co_await collect_model(store, job_.tables, left_out, writer, model_);
}

Status ModelStage::read_kept() {
  if (!is_kept()) return ok_status();
  auto reader = ModelReader::open(*staged_->disk, staged_->kept_at);
  if (!reader) return reader.status();
  model_ = {reader->manifest().digest, model_rows(reader->manifest())};
  staged_->kept = *std::move(reader);
  return ok_status();
}

Task<Status> ModelStage::copy_kept(ShardStore& store) {
  if (!staged_->kept) co_return ok_status();
  const Status status = co_await stage_at(store, job_.options.out, *staged_);
  if (status.code() != Code::kIo) co_return status;
  co_return co_await stage_elsewhere(store, status, *staged_);
}

// Servers have the model of the last pass still: it can be written elsewhere, an earlier one cannot.
Task<Status> ModelStage::commit(ShardStore& store, std::map<std::string, double> metrics,
                                TrainingRecord record) {
  if (Status status = co_await copy_kept(store); !status.ok()) co_return status;
  Status status = commit_staged(metrics, record);
  const bool may_write_again = staged_->kept || staged_->passes == job_.passes.all().size();
  if (status.code() != Code::kIo || !may_write_again) co_return status;
  if (status = co_await stage_elsewhere(store, status, *staged_); !status.ok()) co_return status;
  co_return commit_staged(metrics, record);
}

Status ModelStage::commit_staged(const std::map<std::string, double>& metrics, const TrainingRecord& record) {
  const auto digest = staged_->writer->commit(job_.spec.model, job_.stored, metrics, record);
  if (!digest) return digest.status();
  model_.digest = *digest;
  saved_to_ = staged_->place;
  return ok_status();
}

}  // namespace thalweg
