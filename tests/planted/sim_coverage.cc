// sim_coverage FIRST COUNT: so many seeds of each kind of cluster, and what they came to. Ends with 1 where a
// seed breaks a promise, with 2 where a kind of fault, a code or a branch was never met.
#include <cstdlib>

#include "coverage_for_test.h"
#include "sim/report.h"

namespace thalweg::sim {
namespace {

struct Sums {
  NetworkCounts network;
  DrainCounts drains;
  JoinCounts joins;
  RestartCounts restarts;
  StateCounts state;
  std::uint64_t servers_lost = 0, whole = 0, errors = 0;

  void add(const Report& report) {
    network.dropped += report.network.dropped, network.repeated += report.network.repeated;
    network.delayed += report.network.delayed, network.flipped += report.network.flipped;
    network.split += report.network.split, network.cut_off += report.network.cut_off;
    network.refused += report.network.refused, network.closed += report.network.closed;
    network.combined += report.network.combined;
    drains.begun += report.drains.begun, joins.listed += report.joins.listed,
        joins.deaths += report.joins.deaths;
    restarts.killed += report.restarts.killed, restarts.unsettled += report.restarts.unsettled;
    restarts.dark += report.restarts.dark;
    state.unheard += report.state.unheard, state.late += report.state.late;
    state.late_refused += report.state.late_refused, state.unanswered += report.state.unanswered;
    state.away += report.state.away;
    servers_lost += report.servers_lost;
    ++(report.ended_well ? whole : errors);
  }
};

void add_faults(Coverage& coverage, const Sums& sums) {
  const auto fault = [&](const char* name, const char* when, std::uint64_t times) {
    coverage.add("fault", name, when, times);
  };
  fault("Dropped", "a frame is lost", sums.network.dropped);
  fault("Repeated", "a frame comes twice", sums.network.repeated);
  fault("Delayed", "a frame comes late", sums.network.delayed);
  fault("Flipped", "bits of a frame flip", sums.network.flipped);
  fault("Split", "a frame is lost to a partition", sums.network.split);
  fault("CutOff", "a frame is lost with its connection", sums.network.cut_off);
  fault("Refused", "a damaged frame is refused", sums.network.refused);
  fault("Closed", "a connection is closed because of that", sums.network.closed);
  fault("Combined", "a push is of more than one shard", sums.network.combined);
  fault("ServerLost", "a server dies", sums.servers_lost);
  fault("Drained", "a server is asked to leave", sums.drains.begun);
  fault("Joined", "a server comes late", sums.joins.listed);
  fault("JoinedDied", "one of those dies", sums.joins.deaths);
  fault("SchedulerDied", "the scheduler dies", sums.restarts.killed);
  fault("Unsettled", "with something unsaid", sums.restarts.unsettled);
  fault("Dark", "and its machine with it", sums.restarts.dark);
  fault("Unheard", "etcd never hears of a change", sums.state.unheard);
  fault("Late", "etcd hears of a change late", sums.state.late);
  fault("LateRefused", "too late to count", sums.state.late_refused);
  fault("Unanswered", "an answer of etcd's is lost", sums.state.unanswered);
  fault("Away", "etcd is away", sums.state.away);
  fault("Whole", "a job ends well", sums.whole);
  fault("Error", "a job ends as its faults call for", sums.errors);
}

int main_of(std::uint64_t first, std::uint64_t count) {
  Sums sums;
  for (const Servers servers :
       {Servers::kAny, Servers::kCopied, Servers::kDrained, Servers::kJoined, Servers::kTakenUp}) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      const Report report = run_seed(seed, nullptr, servers);
      if (!report.ok()) {
        fmt::print("seed {} of kind {}: {}\n", seed, static_cast<int>(servers), report.violation);
        return 1;
      }
      sums.add(report);
    }
  }
  for (std::uint64_t seed = first; seed < first + count / 8; ++seed) {  // Each is of several clusters.
    const Report report = run_seed(seed, nullptr, Servers::kRestarted);
    if (report.ok()) continue;
    fmt::print("seed {} of a job that dies and comes again: {}\n", seed, report.violation);
    return 1;
  }
  Coverage coverage;
  add_faults(coverage, sums);
  for (const Code code : {Code::kOk, Code::kRefused, Code::kRetry, Code::kStale, Code::kPeerLost,
                          Code::kTimeout, Code::kAborted})
    coverage.add_code(code);
  coverage.add_code(Code::kUsage, "of calls");
  coverage.add_code(Code::kConfig, "of files");
  coverage.add_code(Code::kData, "of tables that are full");
  coverage.add_code(Code::kIo, "of machines");
  coverage.add_code(Code::kNonFinite, "of gradients");
  coverage.add_code(Code::kModel, "of files");
  coverage.add_branches(
      Branch{}, Branch::kRedirected,
      {{Branch::kRangesAwaited, "of ranges that are placed by hand"},
       {Branch::kLoadKnown, "a chain loses a link while rows are loaded: one of thousands of seeds"},
       {Branch::kOwnerFormer, "of a worker that has the map and does not follow it"},
       {Branch::kWriteCountedLate, "a look at the state and the write after it are one moment here"},
       {Branch::kLeadLost, "schedulers die before another one leads"}});
  return coverage.result();
}

}  // namespace
}  // namespace thalweg::sim

int main(int argc, char** argv) {
  const auto number = [&](int at, std::uint64_t unless_told) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : unless_told;
  };
  return thalweg::sim::main_of(number(1, 1), number(2, 300));
}
