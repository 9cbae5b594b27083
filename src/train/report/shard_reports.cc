#include "train/report/shard_reports.h"

namespace thalweg {

void ShardReports::note_point(std::uint32_t number, const ReadPlace& place) {
  if (points_.size() == kReadPointsMax) points_.erase(points_.begin());
  points_.push_back({number, place.text_hash, place.text_end});
}

void ShardReports::note_text(TrainReport& report, const ReadPlace& place) const {
  report.inputs = fingerprint_;
  report.inputs_name = name_;
  report.read = points_;
  report.read_all = place.at_end ? place.text_hash : 0;
  report.unpacked = place.hash_of_all;
  report.skipped_rows = place.rows_skipped;
}

// Of the reports on their way, if it has come.
Status ShardReports::take_answer() {
  if (!asked_ || !asked_->done()) return ok_status();
  const Status status = asked_->take().status;
  asked_.reset();
  return status;
}

// As many as may go together, at least one. Precondition: some wait, and none is on its way.
void ShardReports::send() {
  std::vector<NumberedReport> together;
  std::size_t bytes = 0;
  while (!waiting_.empty() && (together.empty() || bytes + waiting_.front().text.size() <= kTogetherMax)) {
    bytes += waiting_.front().text.size();
    together.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  waiting_bytes_ -= bytes;
  asked_ = store_.report(together.back().id, joined(together));
}

Task<Status> ShardReports::put(ReportId id, TrainReport report) {
  if (Status status = take_answer(); !status.ok()) co_return status;
  if (waiting_bytes_ > kSampledMax) {
    for (auto* const values : {&report.scores, &report.labels, &report.weights}) values->clear();
  }
  waiting_.push_back({id, to_text(report)});
  waiting_bytes_ += waiting_.back().text.size();
  while (asked_ && waiting_bytes_ > kWaitingMax) {
    const Status status = (co_await *asked_).status;
    asked_.reset();
    if (!status.ok()) co_return status;
    send();
  }
  if (!asked_) send();
  co_return ok_status();
}

Task<Status> ShardReports::drain() {
  for (;;) {
    if (asked_) {
      const Status status = (co_await *asked_).status;
      asked_.reset();
      if (!status.ok()) co_return status;
    }
    if (waiting_.empty()) co_return ok_status();
    send();
  }
}

}  // namespace thalweg
