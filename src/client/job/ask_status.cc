#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/limits.h"
#include "client/job/node_options.h"
#include "net/real_clock.h"
#include "net/tcp/tcp.h"
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
    answer_ = told ? Result<JobStatus>(*std::move(told))
                   : Result<JobStatus>(Status(Code::kIo, "the scheduler's answer cannot be read"));
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
  if (Status status = check(options); !status.ok()) return status;
  const auto secret = job_secret(options, false);
  if (!secret) return secret.status();
  const RealClock clock;
  std::string complaint;
  TcpOptions tcp;
  tcp.spin = Duration{};
  tcp.secret = *secret;
  tcp.insecure_no_auth = options.insecure_no_auth;
  tcp.log = [&complaint](const std::string& line) { complaint = line; };
  Tcp driver(clock, std::move(tcp));
  if (Status status = driver.introduce(kScheduler, options.scheduler); !status.ok()) return status;
  StatusQuery query;
  driver.add(worker_node(temporary_index()), query);
  driver.run_until([&] { return query.finished(); }, driver.now() + options.patience);
  if (auto answer = query.take()) return *std::move(answer);
  const double waited_s = std::chrono::duration<double>(options.patience).count();
  return Status(Code::kTimeout,
                fmt::format("no answer from a scheduler at {} in {:.1f} s{}{}", options.scheduler, waited_s,
                            complaint.empty() ? "" : ": ", complaint));
}

}  // namespace thalweg
