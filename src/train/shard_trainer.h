// Mini-batch training of one data shard through the store: pull the batch's rows, compute, push gradients.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "data/data_set.h"
#include "thalweg/store.h"
#include "thalweg/task.h"
#include "train/batch_source.h"
#include "train/kept_passes.h"
#include "train/rows/key_counting.h"
#include "train/step_memory.h"
#include "train/train_spec.h"

namespace thalweg {

// One workbench a thread, so that it stays in that core's cache whichever shard uses it. Thread-safe; what
// mine() returns is the calling thread's until the thread ends.
class Workbenches {
 public:
  Workbench& mine();

 private:
  std::mutex mutex_;
  std::map<std::thread::id, Workbench> benches_;
};

// What the shards of one process share. The data sets are thread-safe.
struct TrainInputs {
  TrainSpec spec;
  std::shared_ptr<DataSet> train;  // Null: only the workers have the data.
  std::shared_ptr<DataSet> valid;  // Null: nothing is held out.
  std::unique_ptr<Workbenches> benches = std::make_unique<Workbenches>();
  std::unique_ptr<StepMemory> memory = std::make_unique<StepMemory>();
  // For batches that are kept for the next pass.
  std::shared_ptr<StepMemory> kept = std::make_shared<StepMemory>();
  // Of trainings on the same rows that come one after another; null: there is one.
  std::shared_ptr<KeptPasses> passes;
  std::shared_ptr<KeyCounting> counting;       // Of such trainings too; null: no key is too rare.
  void set_memory(std::uint64_t limit) const;  // Of the process; 0: none.
  std::uint64_t fingerprint = 0;  // Of all files; equal on two machines only if they hold the same ones.
  std::string name;               // Of all files, for people.
};
// Of a file, as TrainSpec::script_hash has it. Errors: kIo.
Result<std::string> hash_of(const std::string& path);
// `pipe`: the training data if it is open already and can be read once only.
Result<std::shared_ptr<TrainInputs>> open_inputs(TrainSpec spec, std::shared_ptr<DataSet> pipe = nullptr);

// Where all shards are ready to read their first rows.
inline constexpr BarrierId kReadersBarrier{0, ~0u};

// From store.step() on, which is not the beginning when the shard was another worker's.
Task<Status> train_shard(Store& store, std::shared_ptr<const TrainInputs> inputs);

}  // namespace thalweg
