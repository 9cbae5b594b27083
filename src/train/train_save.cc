// The end of a training job: its tables are read from the servers and saved.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/hint.h"
#include "net/system_disk.h"
#include "train/train_job.h"
#include "train/warm_start/scans_ahead.h"

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

// The servers keep the model meanwhile, so what cannot be written at one place can be at the next one.
Task<Status> TrainJob::save(ShardStore& store) {
  const std::string& asked = options_.out;
  if (asked.empty()) co_return co_await collect(store, nullptr);
  SystemDisk disk;
  const Status refused = co_await save_at(store, disk, asked);
  if (refused.code() != Code::kIo) co_return refused;
  std::string tried = refused.message();
  for (const std::string& place : other_places(disk, asked)) {
    say(TrainMessage::kWarning, fmt::format("{}; trying {}", tried, place));
    const Status status = co_await save_at(store, disk, place);
    if (status.ok()) {
      saved_elsewhere_ = {Code::kIo,
                          fmt::format("{}; the model is saved at {} instead", refused.message(), place)};
      co_return ok_status();
    }
    if (status.code() != Code::kIo) co_return status;
    tried = status.message();
  }
  co_return with_hint({Code::kIo, fmt::format("{}; nor could the model be saved elsewhere, so it is lost: {}",
                                              refused.message(), tried)},
                      "make room, and run the job again");
}

Task<Status> TrainJob::save_at(ShardStore& store, Disk& disk, const std::string& directory) {
  auto writer = ModelWriter::create(disk, directory);
  if (!writer) co_return writer.status();
  if (Status status = co_await collect(store, writer->get()); !status.ok()) co_return status;
  const auto digest = (*writer)->commit(spec().model, options_to_store(), metrics());
  if (!digest) co_return digest.status();
  digest_ = *digest;
  saved_to_ = directory;
  co_return ok_status();
}

Task<Status> TrainJob::collect(ShardStore& store, ModelWriter* writer) {
  digest_ = model_rows_ = 0;  // Of an attempt to save that failed.
  for (std::uint16_t t = 0; t < tables_.size(); ++t) {
    if (Status status = co_await collect_table(store, TableId{t}, writer); !status.ok()) co_return status;
  }
  co_return ok_status();
}

Task<Status> TrainJob::collect_table(ShardStore& store, TableId table, ModelWriter* writer) {
  const TableSpec& spec = tables_[table.value];
  const Answer counted = co_await store.count(table);
  if (!counted.status.ok()) co_return counted.status;
  const std::uint64_t rows = spec.kind == TableSpec::Kind::kDense ? spec.rows : counted.keys.at(0);
  if (spec.kind == TableSpec::Kind::kSparse) model_rows_ += rows;
  TableDigest digest(spec.dim);
  bool begun = false;
  ScansAhead scans(store, table, spec.ranges);
  for (std::uint16_t range = 0; range < spec.ranges; ++range) {
    const Answer scanned = co_await scans.next();
    if (!scanned.status.ok()) co_return scanned.status;
    if (scanned.keys.empty()) continue;
    const std::size_t width = scanned.rows.size() / scanned.keys.size();
    if (writer != nullptr && !begun) {
      if (Status status = writer->begin_table(spec, rows, width); !status.ok()) co_return status;
      begun = true;
    }
    const bool dense = spec.kind == TableSpec::Kind::kDense;
    for (std::size_t i = 0; i < scanned.keys.size(); ++i) {
      digest.add(dense ? scanned.keys[i] : unplace(scanned.keys[i]),
                 scanned.rows.span().subspan(i * width, spec.dim));
    }
    if (writer == nullptr) continue;
    if (Status status = writer->append(scanned.keys, scanned.rows.span()); !status.ok()) co_return status;
  }
  digest_ += table_part_of_digest(spec.name, digest.sum());
  if (writer == nullptr) co_return ok_status();
  if (!begun) {
    if (Status status = writer->begin_table(spec, rows, spec.dim); !status.ok()) co_return status;
  }
  co_return writer->end_table();
}

}  // namespace thalweg
