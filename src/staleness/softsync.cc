#include <algorithm>

#include "staleness/as_they_come.h"

namespace thalweg {
namespace {

class Softsync : public AsTheyCome {
 public:
  explicit Softsync(std::uint32_t n) : n_(std::max(n, 1u)) {}
  bool lets_read(Step, Step) const override { return true; }
  // What is left of a pass is an update when all have ended it.
  Step closed(const Clocks& clocks) const override { return {clocks.slowest().epoch, 0}; }
  bool combines() const override { return true; }
  std::uint32_t pushes_an_update(std::uint32_t shards) const override { return std::max(shards / n_, 1u); }

 private:
  std::uint32_t n_;
};

class FreeSoftsync final : public Softsync {
 public:
  using Softsync::Softsync;
  bool waits_for_own() const override { return false; }
};

}  // namespace

std::unique_ptr<const StepPolicy> softsync(std::uint32_t n) { return std::make_unique<Softsync>(n); }
std::unique_ptr<const StepPolicy> free_softsync(std::uint32_t n) { return std::make_unique<FreeSoftsync>(n); }

}  // namespace thalweg
