// The best model so far of a training that another process may go on with: a model directory among its
// checkpoints, else beside the scheduler's state or, where that is in an etcd, beside where the model is to
// be saved. Each has a name of its own, by scheduler and pass: what one writes that has been followed already
// harms nobody.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "model/format/model_dir.h"
#include "net/system_disk.h"
#include "thalweg/status.h"
#include "thalweg/trainer.h"

namespace thalweg {

class BestSoFar {
 public:
  // Whether there is a place for it. kUsage: what is missing.
  static Status check(const TrainerOptions& options);
  // `before`: schedulers that the job has had.
  BestSoFar(const TrainerOptions& options, std::uint32_t before);
  // Those among the checkpoints of `directory`.
  explicit BestSoFar(const std::string& directory, std::uint32_t before = 0);

  // Where this scheduler keeps that of pass `epoch`, from 1.
  std::string place(std::uint64_t epoch) const;
  // Where that of pass `epoch` is, whole, whichever scheduler has kept it. kModel: nowhere, or why it cannot
  // be read.
  Result<std::string> find(std::uint64_t epoch) const;
  // Copies that of pass `epoch` from elsewhere to `place`, where it is whole or not at all. kIo.
  Status take_in(const std::string& model, std::uint64_t epoch);
  // Whether there is that of a pass behind `epoch`, whole.
  bool has_behind(std::uint64_t epoch) const;
  // All but the one at `place`; empty: that too; and but those of these passes. At worst some stay.
  void forget_others(const std::string& place, const std::set<std::uint64_t>& passes = {});

 private:
  void each(const std::function<void(std::uint64_t scheduler, std::uint64_t epoch, bool whole,
                                     const std::string& path)>& take) const;

  SystemDisk disk_;
  std::string parent_;
  std::string prefix_;  // Of the names of all.
  std::uint32_t before_;
};

// Of the sparse tables that count as the model's.
std::uint64_t model_rows(const Manifest& manifest);

}  // namespace thalweg
