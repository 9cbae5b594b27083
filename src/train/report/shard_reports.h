// A data shard's reports on their way to the scheduler. One is being answered, and those that come meanwhile
// wait behind it and go together: the shard's steps wait for none of them, however long the scheduler is
// away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/store.h"
#include "thalweg/task.h"
#include "train/batch_source.h"
#include "train/train_report.h"

namespace thalweg {

class ShardReports {
 public:
  // Of reports that travel together; a single one may be larger.
  static constexpr std::size_t kTogetherMax = std::size_t{48} << 10;
  // Where so many bytes wait, further reports have no samples of rows;
  static constexpr std::size_t kSampledMax = std::size_t{1} << 20;
  // and where so many wait, the shard waits as well.
  static constexpr std::size_t kWaitingMax = std::size_t{16} << 20;

  // `fingerprint`, `name`: see TrainInputs. The store outlives this.
  ShardReports(Store& store, std::uint64_t fingerprint, std::string name)
      : store_(store), fingerprint_(fingerprint), name_(std::move(name)) {}

  // A pass over rows begins.
  void begin_pass() { points_.clear(); }
  // To be called when all text has been read that the point covers, and none behind.
  void note_point(std::uint32_t number, const ReadPlace& place);
  // What a report says of the text.
  void note_text(TrainReport& report, const ReadPlace& place) const;

  // Behind those that were put before, with a larger number. Fails as one of them has failed.
  Task<Status> put(ReportId id, TrainReport report);
  // Done when the scheduler has all of them, or one has failed.
  Task<Status> drain();

 private:
  Status take_answer();
  void send();

  Store& store_;
  const std::uint64_t fingerprint_;
  const std::string name_;
  std::vector<ReadPoint> points_;  // Of this pass, the newest ones.
  std::deque<NumberedReport> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::optional<Pending> asked_;  // Of those before.
};

}  // namespace thalweg
