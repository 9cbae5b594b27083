#include "sim/change/scheduler_restarts.h"

#include <cmath>

namespace thalweg::sim {

using namespace std::chrono_literals;

SchedulerRestarts::SchedulerRestarts(const Plan& plan, Cluster& cluster)
    : plan_(plan), cluster_(cluster), random_(Random(plan.seed).split(23)), left_(plan.restarts) {}

void SchedulerRestarts::start() {
  if (left_ > 0) next();
}

// At times in the middle of what is being kept.
void SchedulerRestarts::next() {
  const Duration wait = scaled(plan_.restart_every, -std::log(1 - random_.unit()));
  cluster_.at(cluster_.now() + wait, [this] {
    const Process& process = *cluster_.processes()[0];
    if (cluster_.gone()) return;
    if (!process.runs()) return next();  // An etcd keeps its successor waiting.
    // Nodes that know nothing of the job yet do not know either that another scheduler would come.
    if (!cluster_.scheduler().started() || process.kept_scheduler->kept_epoch() == 0) return next();
    if (!cluster_.settled() || random_.chance(0.3)) return kill();
    // The next moment in which something is to be kept, if that comes soon.
    const Instant until = cluster_.now() + plan_.restart_every;
    wait_for_news(until);
  });
}

void SchedulerRestarts::wait_for_news(Instant until) {
  cluster_.at(cluster_.now() + 500us, [this, until] {
    if (cluster_.gone() || !cluster_.processes()[0]->runs()) return;
    if (!cluster_.settled() || cluster_.now() >= until) return kill();
    wait_for_news(until);
  });
}

void SchedulerRestarts::kill() {
  const bool dark = random_.chance(0.5);
  ++counts_.killed;
  counts_.unsettled += cluster_.settled() ? 0 : 1;
  counts_.dark += dark ? 1 : 0;
  --left_;
  cluster_.kill_scheduler(dark);
  cluster_.at(cluster_.now() + scaled(plan_.restart_takes, random_.unit()), [this] {
    if (!plan_.standby) cluster_.restart_scheduler();  // Else it comes by itself once the lease has ended.
    if (left_ > 0) next();
  });
}

}  // namespace thalweg::sim
