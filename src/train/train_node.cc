// Servers and workers of a Trainer's job.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "base/hint.h"
#include "checkpoint/part_file.h"
#include "client/job/node_options.h"
#include "client/job/remote_cluster.h"
#include "data/column/columns.h"
#include "data/idx.h"
#include "data/input_words.h"
#include "net/socket/address.h"
#include "net/system_disk.h"
#include "thalweg/trainer.h"
#include "train/advice/train_advice.h"
#include "train/replica_trainer.h"

namespace thalweg {
namespace {

// Opens the data once for all shards of this process, when the job is known.
class LazyInputs {
 public:
  explicit LazyInputs(const TrainNode& node) : node_(node) {}
  Result<std::shared_ptr<const TrainInputs>> open(const std::string& job);
  const DataSet* data() const { return inputs_ ? inputs_->train.get() : nullptr; }
  // Those of the scheduler, in words; empty where it has none.
  const std::string& of_scheduler() const { return of_scheduler_; }

 private:
  const TrainNode node_;
  std::shared_ptr<const TrainInputs> inputs_;
  std::string of_scheduler_;
};

// What a scheduler that has not seen the data cannot save with the model; `told`: --columns there.
Status check_nothing_guessed(const DataSet& data, const std::string& told) {
  const bool members = data.format().members;
  if (members ? data.options().columns == told : !data.columns().guessed) return ok_status();
  return with_hint(
      {Code::kUsage,
       fmt::format(
           "{}: what its {} are was guessed from its first rows, so the scheduler cannot save it with "
           "the model",
           data.paths().front(), members ? "members" : "columns")},
      members ? "start the scheduler with --columns that says so, or otherwise: " + data.options().columns
              : "start the scheduler with --columns that names each of them, as in " +
                    columns_text(data.columns()));
}

Result<std::shared_ptr<const TrainInputs>> LazyInputs::open(const std::string& job) {
  if (inputs_) return inputs_;
  auto spec = train_spec_from_text(job);
  if (!spec) return spec.status();
  spec->train.formats = spec->valid.formats = node_.more.formats;
  spec->train.memory = spec->valid.memory = node_.more.rows;
  spec->train.from_command = spec->valid.from_command = node_.more.from_command;
  spec->train.command_timeout = spec->valid.command_timeout = node_.more.command_timeout;
  spec->model.kinds = node_.more.models;
  const auto images = node_.files.size() == 1 ? find_images(node_.files.front()) : std::nullopt;
  const auto paths = images ? std::vector{images->train} : node_.files;
  const std::string told = spec->train.columns;
  if (const auto& theirs = spec->train.paths; !theirs.empty()) {
    of_scheduler_ = theirs.size() == 1 ? theirs.front()
                                       : fmt::format("{} and {} more", theirs.front(), theirs.size() - 1);
  }
  spec->train.guess_members = spec->train.paths.empty() && !spec->loads;  // Else the scheduler has looked.
  if (!paths.empty()) spec->train.paths = paths;
  if (!paths.empty() && spec->valid.is_of_part()) spec->valid.paths = paths;
  if (spec->train.paths.empty()) {
    return Status(Code::kUsage, "no training files: name them after -- here or at the scheduler");
  }
  auto inputs = open_inputs(std::move(spec).value());
  if (!inputs) return as_input(inputs.status());
  if (Status status = check_nothing_guessed(*(*inputs)->train, told); !paths.empty() && !status.ok()) {
    return status;
  }
  inputs_ = std::move(inputs).value();
  inputs_->set_memory(node_.memory);
  const std::string empty = paths.empty() ? std::string() : empty_files(inputs_->train->empty_paths());
  if (!empty.empty() && node_.on_message) node_.on_message(TrainMessage::kWarning, empty);
  return inputs_;
}

Status other_files(const std::string& here, const std::string& of_scheduler) {
  return {Code::kData,
          fmt::format(
              "{}: not the files that this job reads{}: their number, sizes or begins differ, as those of "
              "another packing do; give every worker the same ones in the same order, and the scheduler "
              "where it names any",
              here, of_scheduler.empty() ? "" : ", which its scheduler knows as " + of_scheduler)};
}

// `data`: see wire::Map.
Task<Status> train_remote_shard(ShardStore& store, std::string job, std::uint64_t data,
                                std::shared_ptr<LazyInputs> lazy, MeetingPlace place) {
  const auto inputs = lazy->open(job);
  if (!inputs) co_return inputs.status();
  if (data != 0 && data != (*inputs)->fingerprint) {
    co_return other_files((*inputs)->name, lazy->of_scheduler());
  }
  co_return co_await train_in_process(store, *inputs, std::move(place));
}

// Where the shard of a worker listens for others, if it is the first.
MeetingPlace meeting_place(const NodeOptions& node, Duration timeout) {
  MeetingPlace place;
  if (const auto listen = parse_host_port(node.listen)) place.host = listen->host;
  place.options.timeout = timeout;
  place.options.secret_file = node.secret_file;
  place.options.insecure_no_auth = node.insecure_no_auth;
  place.options.log = node.log;
  return place;
}

}  // namespace

std::string insecurity(const NodeOptions& node) { return risk(node); }

TrainNodeEnd run_train_server(const TrainNode& node) {
  SystemDisk disk;
  NodeEnd end = run_remote_server(node.node, {}, node.stop, node.memory, checkpoint::store_cut(disk));
  return {std::move(end.status), end.told};
}

TrainNodeEnd run_train_worker(const TrainNode& node) {
  const auto lazy = std::make_shared<LazyInputs>(node);
  const auto program = [lazy, options = node.node](ShardStore& store, const wire::Map& map) {
    return train_remote_shard(store, map.job, map.data, lazy, meeting_place(options, map.timeout));
  };
  NodeEnd end = run_remote_worker(node.node, program, node.stop);
  if (lazy->data() != nullptr) end.status = with_cause(end.status, lazy->data());
  return {std::move(end.status), end.told};
}

}  // namespace thalweg
