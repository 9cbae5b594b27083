#include "sim/change/drains.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "wire/drain.h"

namespace thalweg::sim {

Drains::Drains(const Plan& plan, Cluster& cluster)
    : plan_(plan), cluster_(cluster), random_(Random(plan.seed).split(18)), left_(plan.drains) {}

void Drains::start() {
  if (left_ > 0) next();
}

// Also of servers that there are not, or that are gone.
void Drains::next() {
  const Duration wait = scaled(plan_.drain_every, -std::log(1 - random_.unit()));
  cluster_.at(cluster_.now() + wait, [this] {
    if (over() || cluster_.work().all_done()) return;
    --left_;
    const std::uint64_t servers = plan_.servers + (random_.chance(0.1) ? 1 : 0);
    ask({static_cast<std::uint32_t>(random_.below(servers)), ++requests_, cluster_.now(), false});
    if (left_ > 0) next();
  });
}

// As the command does: the same question until the server has left, or does not.
void Drains::ask(Asked asked) {
  Frame question;
  question.head.op = Op::kDrain;
  question.head.request = asked.request;
  question.first = encode(wire::Drain{asked.server});
  if (const auto answer = cluster_.ask_scheduler(question)) return on_answer(asked, *answer);
  cluster_.at(cluster_.now() + limits::kRetryFirst, [this, asked] {
    if (!over()) ask(asked);
  });
}

void Drains::on_answer(Asked asked, const Frame& answer) {
  const Status status = status_of(answer);
  if (!status.ok()) {
    if (!asked.answered) ++counts_.refused;
    if (asked.answered) ++(status.code() == Code::kPeerLost ? counts_.lost : counts_.stayed);
    return;
  }
  if (!std::exchange(asked.answered, true)) ++counts_.begun;
  const auto told = wire::decode_server_drain(answer.first);
  if (!told) return cluster_.findings().add(Checker::kEnds, "an answer about a drain cannot be read");
  if (told->left) {
    ++counts_.left;
    counts_.copied += told->copied;
    return;
  }
  const Instant calm = std::max(Instant{plan_.node_faults.until.count()}, asked.at);
  if (cluster_.now() - calm > 2 * recovery_time(plan_)) {
    return cluster_.findings().add(
        Checker::kProgress, fmt::format("server-{} has not left: {} of {} key ranges copied", asked.server,
                                        told->copied, told->ranges));
  }
  cluster_.at(cluster_.now() + limits::kRetryFirst, [this, asked] {
    if (!over()) ask(asked);
  });
}

}  // namespace thalweg::sim
