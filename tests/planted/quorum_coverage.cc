// quorum_coverage FIRST COUNT: so many seeds of rings of versioned values, and what they came to. Ends with 1
// where a seed breaks a promise, with 2 where a kind of fault, a code or a branch was never met.
#include "coverage_for_test.h"
#include "sim/quorum/simulate_quorum.h"

namespace thalweg::sim {
namespace {

int main_of(std::uint64_t first, std::uint64_t count) {
  std::uint64_t crashes = 0, disks = 0, partitions = 0, pauses = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const QuorumReport report = run_quorum_seed(seed);
    if (!report.ok()) {
      fmt::print("seed {}: {}\n", seed, report.violation);
      return 1;
    }
    crashes += report.crashes, disks += report.disks;
    partitions += report.partitions, pauses += report.pauses;
  }
  Coverage coverage;
  coverage.add("fault", "Crash", "a server's process dies", crashes);
  coverage.add("fault", "Disk", "a server loses all that it has", disks);
  coverage.add("fault", "Partition", "servers do not hear each other", partitions);
  coverage.add("fault", "Pause", "a server stands still", pauses);
  coverage.add_branches(Branch::kRedirected, Branch::kCount);
  return coverage.result();
}

}  // namespace
}  // namespace thalweg::sim

int main(int argc, char** argv) { return thalweg::run_coverage(argc, argv, thalweg::sim::main_of); }
