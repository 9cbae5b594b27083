// The best model so far of a training whose scheduler another one may follow: a model directory beside the
// scheduler's state or, where that is in an etcd, beside where the model is to be saved. Each has a name of
// its own, by scheduler and pass: what one writes that has been followed already harms nobody.
#pragma once

#include <cstdint>
#include <functional>
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

  // Where this scheduler keeps that of pass `epoch`, from 1.
  std::string place(std::uint64_t epoch) const;
  // Where that of pass `epoch` is, whole, whichever scheduler has kept it. kModel: nowhere, or why it cannot
  // be read.
  Result<std::string> find(std::uint64_t epoch) const;
  // All but the one at `place`; empty: that too. At worst some stay.
  void forget_others(const std::string& place);

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
