// The part of Scheduler that gives data shards to other workers while a job runs: those of a lost one, and
// some of everybody's to one that comes late. Whoever has a shard now begins where the one before was.
#include <fmt/format.h>

#include <algorithm>

#include "base/coverage/reached.h"
#include "scheduler/scheduler.h"

namespace thalweg {
namespace {

constexpr std::size_t kNamedBytesMax = 100;

std::string some_names(const std::map<std::uint32_t, std::uint32_t>& workers) {
  std::string names;
  for (const auto& [worker, shards] : workers) {
    const bool shown = names.size() < kNamedBytesMax;
    names += (names.empty() ? "" : ", ") + (shown ? node_name(worker_node(worker)) : std::string("others"));
    if (!shown) break;
  }
  return names;
}

}  // namespace

// Says where the shards went.
std::string Scheduler::reassign(Instant now, std::uint32_t worker) {
  std::map<std::uint32_t, std::uint32_t> load, heirs;
  std::uint32_t moved = 0;
  for (const auto& [id, member] : members_) {
    if (id.role == Role::kWorker && !member.observer && !member.lost) load[id.index] = 0;
  }
  for (const wire::ShardOwner& owner : map_.shards) {
    if (load.count(owner.worker) != 0) ++load[owner.worker];
  }
  for (wire::ShardOwner& owner : map_.shards) {
    if (owner.worker != worker) continue;
    const auto least = std::min_element(load.begin(), load.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    owner.worker = least->first;
    ++owner.owner_epoch;
    ++least->second;
    ++moved;
    ++heirs[least->first];
  }
  if (moved == 0) return "it had no data shards";
  for (const auto& [heir, shards] : heirs) {
    timeline_.add(now, JobEvent::Kind::kReassigned, worker_node(heir),
                  fmt::format("has {} data shards of {}", shards, node_name(worker_node(worker))));
  }
  return fmt::format("its {} data shard{} {} to {}", moved, moved == 1 ? "" : "s", moved == 1 ? "goes" : "go",
                     some_names(heirs));
}

// Whether an error is of what a late worker brought with it, as its files, and of nobody else; whatever it
// had goes on at others, who meet the same error where it is theirs too.
bool Scheduler::may_turn_away(NodeId from, Code code) const {
  const Member& member = members_.at(from);
  const bool of_input = code == Code::kUsage || code == Code::kIo || code == Code::kData;
  return started() && !stopped_ && from.role == Role::kWorker && !member.observer && !member.proven &&
         of_input && count(Role::kWorker, true) > 1;
}

void Scheduler::turn_away(Instant now, NodeId worker, const Status& why, Transport& out) {
  members_.at(worker).turned_away = why;
  lose(now, worker, "is turned away: " + why.message(), out);
  send(worker, Op::kStop, why, {}, out);
}

// Its first word under its own name: it is no joiner any more. It gets shards at once, as a pass may be long;
// where programs keep what no server has, it waits for losses.
void Scheduler::share_with(Instant now, NodeId newcomer, Transport& out) {
  members_.at(newcomer).named = true;
  if (newcomer.role == Role::kServer) return welcome_server(now, newcomer.index, out);
  if (newcomer.role != Role::kWorker || members_.at(newcomer).observer) return;
  const std::string what =
      options_.shards_stay || map_.closing ? std::string() : take_shares(now, newcomer.index);
  tell_event(fmt::format("{} joined; {}", describe_member(newcomer),
                         what.empty() ? "it stands by for the data shards of workers that are lost" : what));
  if (!what.empty()) publish(out);
}

// From those who have most, until one more would only swap who has. Says what it has then; empty: nothing.
std::string Scheduler::take_shares(Instant now, std::uint32_t newcomer) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> held;
  for (const auto& [id, member] : members_) {
    if (id.role == Role::kWorker && !member.observer && !member.lost) held[id.index] = {};
  }
  for (std::uint32_t d = 0; d < map_.shards.size(); ++d) {
    const auto owner = held.find(map_.shards[d].worker);
    if (owner != held.end() && !ended_.contains(ShardId{d})) owner->second.push_back(d);
  }
  std::map<std::uint32_t, std::uint32_t> from;
  std::vector<std::uint32_t>& own = held.at(newcomer);
  for (;;) {
    auto& [worker, shards] = *std::max_element(held.begin(), held.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    if (shards.size() <= own.size() + 1) break;
    wire::ShardOwner& owner = map_.shards[shards.back()];
    owner = {newcomer, owner.owner_epoch + 1};
    own.push_back(shards.back());
    shards.pop_back();
    ++from[worker];
  }
  for (const auto& [worker, count] : from) {
    timeline_.add(now, JobEvent::Kind::kReassigned, worker_node(newcomer),
                  fmt::format("has {} data shard{} of {}", count, count == 1 ? "" : "s",
                              node_name(worker_node(worker))));
  }
  if (from.empty()) return {};
  THALWEG_REACHED(kSharesGiven);
  return fmt::format("it has {} data shard{} of {}", own.size(), own.size() == 1 ? "" : "s",
                     some_names(from));
}

}  // namespace thalweg
