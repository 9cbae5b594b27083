#include "staleness/as_they_come.h"

namespace thalweg {
namespace {

class Bounded final : public AsTheyCome {
 public:
  explicit Bounded(std::uint32_t bound) : bound_(bound) {}
  bool lets_read(Step clock, Step wanted) const override { return is_within(clock, wanted, bound_); }

 private:
  std::uint32_t bound_;
};

}  // namespace

std::unique_ptr<const StepPolicy> bounded(std::uint32_t bound) { return std::make_unique<Bounded>(bound); }

}  // namespace thalweg
