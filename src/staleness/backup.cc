#include "staleness/step_policy.h"

namespace thalweg {
namespace {

class Backup final : public StepPolicy {
 public:
  explicit Backup(std::uint32_t late) : late_(late) {}
  bool lets_read(Step clock, Step wanted) const override { return is_within(clock, wanted, 0); }
  Step awaited(const Clocks& clocks) const override { return closed(clocks); }
  Step closed(const Clocks& clocks) const override { return clocks.slowest_but(late_); }
  bool drops_late() const override { return true; }
  // Open steps stay few when shards push and never read.
  bool takes(const Clocks& clocks, Step step) const override { return is_near(closed(clocks), step); }
  bool combines() const override { return false; }
  std::size_t steps_replayed() const override { return 0; }

 private:
  std::uint32_t late_;
};

}  // namespace

std::unique_ptr<const StepPolicy> backup(std::uint32_t late) { return std::make_unique<Backup>(late); }

}  // namespace thalweg
