#include "client/group/group_ending.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "exchange/ending.h"
#include "net/group/call_board.h"
#include "net/group/group_control.h"

namespace thalweg {
namespace {

// Why the ranks of this group can end no operation, if it is so: one of them was found guilty of that.
Status verdict_on(GroupView& view, std::uint32_t ranks) {
  const CallBoard* calls = view.calls();
  const std::optional<Verdict> verdict = calls ? calls->found() : std::nullopt;
  if (!verdict) return {};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (view.fabric_rank(rank) == verdict->guilty) return verdict->status;
  }
  return {};
}

class ViewNews final : public GroupNews {
 public:
  ViewNews(GroupView& view, std::uint32_t ranks) : view_(view), ranks_(ranks) {}
  Status verdict() override { return verdict_on(view_, ranks_); }
  Status peer_status(std::uint32_t rank) override { return view_.peer_status(rank); }

 private:
  GroupView& view_;
  std::uint32_t ranks_;
};

}  // namespace

bool advance_or_fail(Exchange& exchange, GroupView& view, bool any_lost) {
  if (!any_lost) return exchange.advance(view.fabric());
  ViewNews news(view, exchange.ranks());
  Advance advance = advance_among(exchange, view.fabric(), news);
  if (advance.how != Advance::How::kLost) return advance.how == Advance::How::kOver;
  GroupControl* control = view.control();
  if (control && !advance.by_verdict)
    advance.why = control->explain_loss(view.fabric_rank(advance.peer), std::move(advance.why)).status;
  exchange.fail(ended_for(exchange, advance.why));
  return true;
}

std::string what_waits(const Exchange& exchange, bool started) {
  return fmt::format("{}{}, {}", exchange.name(), started ? ", started" : "", exchange.waits_in());
}

void fail_late(Exchange& exchange, GroupView& view, Duration timeout, bool started) {
  const std::uint32_t peer = exchange.waits_for();
  const double seconds = std::chrono::duration<double>(timeout).count();
  if (GroupControl* control = view.control()) {
    const Verdict verdict = control->accuse(view.fabric_rank(peer), what_waits(exchange, started));
    const std::string why = fmt::format("not done within {} s: {}", seconds, verdict.status.message());
    exchange.fail(ended_for(exchange, {verdict.status.code(), why}));
    return;
  }
  exchange.fail(ended_for(
      exchange, {Code::kTimeout, fmt::format("rank {} was waited for in vain within {} s", peer, seconds)}));
}

namespace {

// OK, or that a peer gave up an operation that read its memory: a rank that comes late has all that its peers
// have said, and none of what they still have.
Status check_memory(const Exchange& exchange, GroupView& view, std::uint16_t channel) {
  for (std::uint32_t rank = 0; rank < exchange.ranks(); ++rank) {
    if (rank == exchange.rank() || !view.has_given_up({rank, channel}, exchange.preface().sequence)) continue;
    const Status why(Code::kPeerLost,
                     fmt::format("rank {} gave it up before this one had read its memory", rank));
    GroupControl* control = view.control();
    const Status found = control ? control->explain_loss(view.fabric_rank(rank), why).status : why;
    return {found.code(),
            fmt::format("{}, after the last step of this rank: {}", exchange.name(), found.message())};
  }
  return {};
}

}  // namespace

// Threads of one process wait for no rank to form a group anew.
Status outcome(const Exchange& exchange, GroupView& view, std::uint16_t channel) {
  if (exchange.reads_memory() && exchange.status().ok()) {
    if (Status status = check_memory(exchange, view, channel); !status.ok()) return status;
  }
  ViewNews news(view, exchange.ranks());
  return outcome_of(exchange, news, view.control() != nullptr);
}

}  // namespace thalweg
