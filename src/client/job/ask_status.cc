#include <optional>
#include <utility>

#include "base/limits.h"
#include "client/job/question.h"
#include "thalweg/job_status.h"
#include "wire/job_status.h"

namespace thalweg {
namespace {

// Asks until it is answered. A connection may break, so that a question is lost.
class StatusQuery final : public Node {
 public:
  void on_frame(Instant, NodeId from, Frame frame, Transport&) override {
    if (from != kScheduler || frame.head.op != Op::kStatusReply) return;
    auto told = wire::decode_job_status(frame.first);
    answer_ = told ? Result<JobStatus>(*std::move(told)) : Result<JobStatus>(unreadable_answer());
  }
  void on_time(Instant now, Transport& out) override {
    ask_at_ = now + limits::kRetryFirst;
    Frame frame;
    frame.head.op = Op::kStatus;
    out.send(kScheduler, std::move(frame));
  }
  Instant next_deadline() const override { return answer_ ? kNever : ask_at_; }
  void on_peer_lost(Instant, NodeId, Transport&) override {}
  bool finished() const override { return answer_.has_value(); }
  std::optional<Result<JobStatus>> take() { return std::move(answer_); }

 private:
  Instant ask_at_{0};
  std::optional<Result<JobStatus>> answer_;
};

}  // namespace

Result<JobStatus> job_status(const NodeOptions& options) {
  StatusQuery query;
  const Status status = ask_scheduler(options, query);
  if (auto answer = query.take()) return *std::move(answer);
  return status;
}

}  // namespace thalweg
