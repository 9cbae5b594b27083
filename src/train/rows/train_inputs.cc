// TrainInputs: what the shards of one process share, opened as the spec has it.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/mix.h"
#include "model/format/file.h"
#include "net/system_disk.h"
#include "train/rows/row_bounds.h"
#include "train/shard_trainer.h"

namespace thalweg {
namespace {

Status check_same_keys(const TrainInputs& inputs) {
  if (inputs.train == nullptr) return ok_status();
  const RowFormat &train = inputs.train->format(), &valid = inputs.valid->format();
  if (train.ids == valid.ids) return ok_status();
  return {Code::kData,
          fmt::format("{}: looks like {}, expected {} as in {}: the same feature has another id "
                      "in another format",
                      inputs.valid->paths().front(), valid.name, train.name, inputs.train->paths().front())};
}

// Whether the module here is the one that the job was made with.
Status check_script(const TrainSpec& spec) {
  if (spec.script_hash.empty()) return ok_status();
  const auto hash = hash_of(spec.model.script);
  if (!hash) return hash.status();
  if (*hash == spec.script_hash) return ok_status();
  return {Code::kData, spec.model.script + ": is another module here than where the job was started"};
}

// Parts of packed text and of pipes come as they stand.
Status check_order(const TrainInputs& inputs) {
  if (inputs.train == nullptr || inputs.spec.train.shuffle.order != RowOrder::kBlocks ||
      inputs.train->has_random_access())
    return ok_status();
  const std::vector<std::string>& reordered = inputs.train->reordered_paths();
  if (!reordered.empty())
    return {Code::kUsage, reordered.front() +
                              ": is not read in blocks of any order, since its columns stand in "
                              "another order than those of the first file; expected --shuffle "
                              "rows, or files with one order of columns"};
  return {Code::kUsage, inputs.train->paths().front() +
                            ": is not read in blocks of any order, since it is packed, computed or no file; "
                            "expected --shuffle rows, or plain files"};
}

// What rows may have so that `model` can take them; dense models say which flag makes room for more keys.
RowBounds bounds_of(const ModelSpec& model) {
  RowBounds bounds = row_bounds(model);
  bounds.keys_below = 0;
  return bounds;
}

// Rows that `model` can take, with hashes for the comparison in TrainMonitor.
Result<std::shared_ptr<DataSet>> open_rows(ReadOptions options, const ModelSpec& model) {
  options.hash_text = true;
  options.bounds = bounds_of(model);
  return DataSet::open(std::move(options));
}

}  // namespace

Result<std::string> hash_of(const std::string& path) {
  const SystemDisk disk;
  const auto file = disk.open(path);
  if (!file) return file.status();
  return hash_file(**file);
}

void TrainInputs::set_memory(std::uint64_t limit) const {
  constexpr std::uint64_t kKeptMax = std::uint64_t{512} << 20, kKeptPart = 8;
  memory->set_max(memory_for_steps(limit));
  kept->set_max(limit == 0 ? kKeptMax : std::min(kKeptMax, limit / kKeptPart));
}

Workbench& Workbenches::mine() {
  const std::lock_guard lock(mutex_);
  return benches_[std::this_thread::get_id()];
}

Result<std::shared_ptr<TrainInputs>> open_inputs(TrainSpec spec, std::shared_ptr<DataSet> pipe) {
  if (Status status = check_script(spec); !status.ok()) return status;
  auto inputs = std::make_shared<TrainInputs>();
  inputs->spec = std::move(spec);
  inputs->train = std::move(pipe);
  if (inputs->train != nullptr) inputs->train->set_bounds(bounds_of(inputs->spec.model));
  if (inputs->train == nullptr && !inputs->spec.train.paths.empty()) {
    auto train = open_rows(inputs->spec.train, inputs->spec.model);
    if (!train) return train.status();
    inputs->train = std::move(train).value();
  }
  if (Status status = check_order(*inputs); !status.ok()) return status;
  if (inputs->spec.min_count > 1) {
    inputs->counting =
        std::make_shared<KeyCounting>(inputs->spec.train, inputs->spec.count_width, inputs->spec.min_count);
  }
  if (inputs->spec.has_valid()) {
    auto valid = open_rows(inputs->spec.valid, inputs->spec.model);
    if (!valid) return valid.status();
    inputs->valid = std::move(valid).value();
    if (Status status = check_same_keys(*inputs); !status.ok()) return status;
  }
  for (const auto& data : {inputs->train, inputs->valid}) {
    if (data == nullptr) continue;
    data->give_way();
    const std::vector<std::string> paths = data->paths();
    inputs->name += (inputs->name.empty() ? "" : " with ") + paths.front();
    if (paths.size() > 1) inputs->name += fmt::format(" and {} more", paths.size() - 1);
    inputs->fingerprint = place(inputs->fingerprint) ^ data->fingerprint();
  }
  return inputs;
}

}  // namespace thalweg
