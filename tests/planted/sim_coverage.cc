// sim_coverage FIRST COUNT: so many seeds of each kind of cluster, and what they came to. Ends with 1 where a
// seed breaks a promise, with 2 where a kind of fault, a code or a branch was never met.
#include <array>
#include <iterator>

#include "coverage_for_test.h"
#include "sim/report.h"

namespace thalweg::sim {
namespace {

struct Happened {
  const char* name;
  const char* when;
  std::uint64_t (*times)(const Report&);
};

constexpr Happened kFaults[] = {
    {"Dropped", "a frame is lost", [](const Report& r) { return r.network.dropped; }},
    {"Repeated", "a frame comes twice", [](const Report& r) { return r.network.repeated; }},
    {"Delayed", "a frame comes late", [](const Report& r) { return r.network.delayed; }},
    {"Flipped", "bits of a frame flip", [](const Report& r) { return r.network.flipped; }},
    {"Split", "a frame is lost to a partition", [](const Report& r) { return r.network.split; }},
    {"CutOff", "a frame is lost with its connection", [](const Report& r) { return r.network.cut_off; }},
    {"Refused", "a damaged frame is refused", [](const Report& r) { return r.network.refused; }},
    {"Closed", "a connection is closed because of that", [](const Report& r) { return r.network.closed; }},
    {"Combined", "a push is of more than one shard", [](const Report& r) { return r.network.combined; }},
    {"ServerLost", "a server dies", [](const Report& r) { return std::uint64_t{r.servers_lost}; }},
    {"Drained", "a server is asked to leave", [](const Report& r) { return r.drains.begun; }},
    {"Joined", "a server comes late", [](const Report& r) { return r.joins.listed; }},
    {"JoinedDied", "one of those dies", [](const Report& r) { return r.joins.deaths; }},
    {"SchedulerDied", "the scheduler dies", [](const Report& r) { return r.restarts.killed; }},
    {"Unsettled", "with something unsaid", [](const Report& r) { return r.restarts.unsettled; }},
    {"Dark", "and its machine with it", [](const Report& r) { return r.restarts.dark; }},
    {"Unheard", "etcd never hears of a change", [](const Report& r) { return r.state.unheard; }},
    {"Late", "etcd hears of a change late", [](const Report& r) { return r.state.late; }},
    {"LateRefused", "too late to count", [](const Report& r) { return r.state.late_refused; }},
    {"Unanswered", "an answer of etcd's is lost", [](const Report& r) { return r.state.unanswered; }},
    {"Away", "etcd is away", [](const Report& r) { return r.state.away; }},
    {"Forgotten", "etcd forgets what has been", [](const Report& r) { return r.state.compacted; }},
    {"WatchAnew", "a standby's watch is begun anew by that",
     [](const Report& r) { return r.state.stale_watches; }},
    {"LeaseEarly", "a lease of etcd's ends before its time",
     [](const Report& r) { return r.state.leases_early; }},
    {"LeaseLate", "one lasts longer", [](const Report& r) { return r.state.leases_late; }},
    {"CutOff", "a scheduler alone does not reach etcd", [](const Report& r) { return r.state.cut; }},
    {"Replaced", "a scheduler lives when another one takes the job up",
     [](const Report& r) { return r.state.replaced; }},
    {"Moved", "a node leaves it for that one", [](const Report& r) { return r.state.moved; }},
    {"WentBack", "etcd becomes what it was before", [](const Report& r) { return r.state.went_back; }},
    {"WentBackRefused", "a scheduler ends because of that", [](const Report& r) { return r.state.refused; }},
    {"Whole", "a job ends well", [](const Report& r) { return std::uint64_t{r.ended_well}; }},
    {"Error", "a job ends as its faults call for",
     [](const Report& r) { return std::uint64_t{!r.ended_well}; }},
};

int main_of(std::uint64_t first, std::uint64_t count) {
  std::array<std::uint64_t, std::size(kFaults)> times{};
  for (const Servers servers : {Servers::kAny, Servers::kCopied, Servers::kDrained, Servers::kJoined,
                                Servers::kTakenUp, Servers::kRestarted}) {
    const bool of_several = servers == Servers::kRestarted;  // Clusters, so that a few seeds are enough.
    for (std::uint64_t seed = first; seed < first + (of_several ? count / 8 : count); ++seed) {
      const Report report = run_seed(seed, nullptr, servers);
      if (!report.ok()) {
        fmt::print("seed {} of kind {}: {}\n", seed, static_cast<int>(servers), report.violation);
        return 1;
      }
      for (std::size_t i = 0; i < times.size() && !of_several; ++i) times[i] += kFaults[i].times(report);
    }
  }
  Coverage coverage;
  for (std::size_t i = 0; i < times.size(); ++i)
    coverage.add("fault", kFaults[i].name, kFaults[i].when, times[i]);
  for (const Code code :
       {Code::kOk, Code::kRefused, Code::kRetry, Code::kStale, Code::kPeerLost, Code::kTimeout})
    coverage.add_code(code);
  coverage.add_code(Code::kAborted, "of interrupts, and of a former owner's frames");
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
       {Branch::kWriteCountedLate, "a look at the state and the write after it are one moment here"}});
  return coverage.result();
}

}  // namespace
}  // namespace thalweg::sim

int main(int argc, char** argv) { return thalweg::run_coverage(argc, argv, thalweg::sim::main_of); }
