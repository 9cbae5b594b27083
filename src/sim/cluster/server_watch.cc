#include "sim/cluster/server_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg::sim {
namespace {

// What it has, which it may have to itself only since a moment ago.
const RangeSet& owned(const Server& server, TableId table) { return server.tables()[table.value]->owned(); }

// Whether an answer is to what the server is given in this turn.
bool answers(const FrameHeader& sent, const Frame* asked) {
  if (asked == nullptr || static_cast<int>(asked->head.op) + 1 != static_cast<int>(sent.op)) return false;
  const FrameHeader& head = asked->head;
  return head.request == sent.request && head.table == sent.table && head.shard == sent.shard &&
         head.step == sent.step && head.ranges == sent.ranges;
}

}  // namespace

void ServerWatch::on_asked(NodeId id, const Server& server, NodeId from, const FrameHeader& head) {
  const bool answered = head.op == Op::kPush || head.op == Op::kPull;
  // What comes by another map is told so, at once.
  if (answered && head.map_epoch == server.map().epoch)
    owed_[id].asked.insert_or_assign({from, head.request}, head);
}

void ServerWatch::on_answer(NodeId id, const Server& server, NodeId to, const Frame* asked,
                            const Frame& sent) {
  const FrameHeader& head = sent.head;
  const std::pair asker(to, head.request);
  const bool follows = head.shard == kNoShard && (head.op == Op::kWaiting || head.op == Op::kPullReply);
  if (follows && head.op == Op::kWaiting) owed_[id].followers.insert(to);
  if (follows) return;
  if (head.op == Op::kWaiting && asked != nullptr && asked->head.op == Op::kPush) return;  // It comes again.
  if (head.op == Op::kWaiting) {
    if (copied()) return;  // It may wait at a server that others have taken over from.
    if (arrivals_.must_be_shown(head.table, owned(server, head.table), head.shard, head.step)) {
      findings_.add(Checker::kPromptness,
                    fmt::format("{}: told to wait for {}, which it may read", node_name(id), describe(head)));
    }
    if (asked != nullptr) owed_[id].waiting[asker] = asked->head;
    return;
  }
  if (head.op == Op::kPullReply) {
    Owed& owed = owed_[id];
    const auto waited = owed.waiting.extract(asker);
    const auto request = owed.asked.find(asker);
    const FrameHeader* pull = waited                        ? &waited.mapped()
                              : answers(head, asked)        ? &asked->head
                              : request != owed.asked.end() ? &request->second
                                                            : nullptr;
    if (head.code != Code::kOk || pull == nullptr) return;
    check_owner(server, head);
    on_pull_reply(id, server, head, (pull->flags & frame_flags::kReadOnly) != 0);
  }
  if (head.code != Code::kOk) return;
  if (head.op == Op::kPushReply) {
    const auto push = owed_[id].asked.extract(asker);
    if (!push && !answers(head, asked)) return;  // A repeat, which was answered already.
    owed_[id].news = true;
    on_push_reply(server, answers(head, asked) ? asked->head : push.mapped());
  }
  if (head.op == Op::kMarksReply) on_marks_reply(id, server, sent);
}

void ServerWatch::check_owner(const Server& server, const FrameHeader& head) {
  const std::uint32_t now = server.map().shards[head.shard.value].owner_epoch;
  if (head.owner_epoch != now) {
    findings_.add(Checker::kOwners, fmt::format("{} of owner epoch {} was served, the owner epoch is {}",
                                                describe(head), head.owner_epoch, now));
  }
}

void ServerWatch::on_push_reply(const Server& server, const FrameHeader& push) {
  check_owner(server, push);
  if (push.map_epoch != server.map().epoch) {
    findings_.add(Checker::kOwners, fmt::format("{} of map epoch {} was served, the map epoch is {}",
                                                describe(push), push.map_epoch, server.map().epoch));
  }
  if (std::string wrong = arrivals_.accept(push); !wrong.empty()) findings_.add(Checker::kArrivals, wrong);
}

void ServerWatch::on_pull_reply(NodeId id, const Server& server, const FrameHeader& head, bool read_only) {
  const RangeSet& ranges = owned(server, head.table);
  // A copy that takes over shows what it has been told, though its owner may not have acknowledged that.
  const bool early = !arrivals_.may_read(head.table, ranges, head.shard, head.step);
  if (early && !copied()) {
    findings_.add(Checker::kGate,
                  fmt::format("{}: {} was answered too early, {} steps ahead of the slowest shard",
                              node_name(id), describe(head), arrivals_.lead(head.table, ranges, head.step)));
  }
  if (read_only) return;
  const std::uint32_t lead = arrivals_.lead(head.table, ranges, head.step);
  lead_max_ = std::max(lead_max_, lead);
  std::vector<std::uint32_t>& lead_max = owed_[id].lead_max;
  lead_max.resize(workload_.plan().tables.size());
  lead_max[head.table.value] = std::max(lead_max[head.table.value], lead);
}

void ServerWatch::on_marks_reply(NodeId id, const Server& server, const Frame& sent) {
  const auto marks = wire::decode_marks(sent.first);
  if (!marks) return findings_.add(Checker::kMarks, fmt::format("{}: unreadable marks", node_name(id)));
  Step low{~0u, 0};
  for (std::uint16_t t = 0; t < workload_.plan().tables.size(); ++t) {
    const RangeSet& ranges = owned(server, TableId{t});
    if (!ranges.empty()) low = std::min(low, arrivals_.clock(TableId{t}, ranges, sent.head.shard));
  }
  if (marks->low != low && !copied()) {
    findings_.add(
        Checker::kMarks,
        fmt::format("{}: told the heir of shard {} to start at {}.{}, {}.{} has not arrived", node_name(id),
                    sent.head.shard.value, marks->low.epoch, marks->low.index, low.epoch, low.index));
  }
}

void ServerWatch::on_combiner_answer(NodeId id, const FrameHeader& head) {
  if (head.code != Code::kOk || arrivals_.knows(head)) return;
  findings_.add(Checker::kCombiners,
                fmt::format("{}: acknowledged {}, which no server has", node_name(id), describe(head)));
}

void ServerWatch::after_turn(NodeId id, const Server& server) {
  Owed& owed = owed_[id];
  check_limits(id, server, owed);
  check_waiting(id, server, owed);
  if (copied()) return;
  owed.lead_max.resize(workload_.plan().tables.size());
  for (std::uint16_t t = 0; t < server.tables().size(); ++t) {
    const std::uint32_t said = server.tables()[t]->leads().most(), seen = owed.lead_max[t];
    if (said == seen) continue;
    findings_.add(Checker::kStaleness,
                  fmt::format("{}: says that answers of table {} were at most {} steps ahead, {} were seen",
                              node_name(id), t, said, seen));
  }
}

// A pull that waits is answered in the very turn that makes it readable, not when it is sent again.
void ServerWatch::check_waiting(NodeId id, const Server& server, Owed& owed) {
  if (!std::exchange(owed.news, false)) return;
  for (auto pull = owed.waiting.begin(); pull != owed.waiting.end();) {
    const FrameHeader& head = pull->second;
    if (head.map_epoch < server.map().epoch) {
      pull = owed.waiting.erase(pull);  // It comes again, perhaps from elsewhere or to elsewhere.
      continue;
    }
    if (arrivals_.must_be_shown(head.table, owned(server, head.table), head.shard, head.step))
      findings_.add(Checker::kPromptness,
                    fmt::format("{}: keeps {} waiting, which may be read", node_name(id), describe(head)));
    ++pull;
  }
}

void ServerWatch::check_limits(NodeId id, const Server& server, const Owed& owed) const {
  const auto check = [&](const char* what, std::size_t count, std::size_t most) {
    if (count > most)
      findings_.add(Checker::kLimits, fmt::format("{}: {} {}, at most {}", node_name(id), count, what, most));
  };
  // A task waits for one pull and one look at each table at a time.
  const Plan& plan = workload_.plan();
  // Cut in as many as a table has ranges, where these may lie anywhere.
  std::size_t pieces = 1;
  for (const TableSpec& table : plan.tables)
    pieces = std::max<std::size_t>(pieces, plan.moves > 0 || copied() ? table.ranges * (plan.moves + 1) : 1);
  // And a worker that follows rows, for what is newer of each.
  const std::size_t followers = owed.followers.size();
  check("waiting pulls", server.pulls_waiting(), pieces * (2 * plan.shards + followers) * plan.tables.size());
  for (const auto& host : server.tables()) {
    check("open steps", host->steps_open(), std::size_t{2} * limits::kStepWindow);
    if (!copied()) check("remembered answers", host->replies_remembered(), 2 * pieces * plan.shards);
  }
}

}  // namespace thalweg::sim
