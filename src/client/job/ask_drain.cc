#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/limits.h"
#include "client/job/node_options.h"
#include "client/job/question.h"
#include "thalweg/drain.h"
#include "wire/drain.h"

namespace thalweg {
namespace {

constexpr Duration kAskEvery = std::chrono::milliseconds(50);

// Asks for a server to leave, and then how far it is, until it has left.
class DrainQuery final : public Node {
 public:
  DrainQuery(std::uint32_t server, std::uint32_t request) : server_(server), request_(request) {}

  void on_frame(Instant, NodeId from, Frame frame, Transport&) override {
    if (from != kScheduler || frame.head.op != Op::kDrainReply || finished()) return;
    if (const Status refused = status_of(frame); !refused.ok()) return end(refused);
    newest_ = wire::decode_server_drain(frame.first);
    if (!newest_) return end(unreadable_answer());
    if (newest_->left) end(ok_status());
  }
  void on_time(Instant now, Transport& out) override {
    ask_at_ = now + (newest_ ? kAskEvery : limits::kRetryFirst);
    Frame frame;
    frame.head.op = Op::kDrain;
    frame.head.request = request_;
    frame.first = encode(wire::Drain{server_});
    out.send(kScheduler, std::move(frame));
  }
  Instant next_deadline() const override { return finished() ? kNever : ask_at_; }
  void on_peer_lost(Instant, NodeId, Transport&) override {
    if (!newest_ || finished()) return;  // Nobody may have been there yet.
    end({Code::kPeerLost, fmt::format("the scheduler is gone, and {} had not left: {}",
                                      node_name(server_node(server_)), progress())});
  }
  bool finished() const override { return ended_.has_value(); }

  const std::optional<Status>& ended() const { return ended_; }
  const std::optional<ServerDrain>& newest() const { return newest_; }
  // Precondition: newest() is there.
  std::string progress() const {
    return fmt::format("{} of its {} key ranges are copied", newest_->copied, newest_->ranges);
  }

 private:
  void end(Status status) { ended_ = std::move(status); }

  std::uint32_t server_;
  std::uint32_t request_;
  Instant ask_at_{0};
  std::optional<ServerDrain> newest_;
  std::optional<Status> ended_;
};

}  // namespace

Result<ServerDrain> drain_server(const NodeOptions& options, std::uint32_t server) {
  DrainQuery query(server, temporary_index());
  const Status asked = ask_scheduler(options, query);
  if (query.ended() && query.ended()->ok()) return *query.newest();
  if (query.ended()) return *query.ended();
  if (!query.newest()) return asked;
  const double waited_s = std::chrono::duration<double>(options.patience).count();
  return Status(Code::kTimeout,
                fmt::format("{} has not left in {:.1f} s: {}; it goes on leaving, see thalweg status",
                            node_name(server_node(server)), waited_s, query.progress()));
}

}  // namespace thalweg
