#include "staleness/as_they_come.h"

namespace thalweg {
namespace {

class Immediate final : public AsTheyCome {
 public:
  bool lets_read(Step, Step) const override { return true; }
};

}  // namespace

std::unique_ptr<const StepPolicy> immediate() { return std::make_unique<Immediate>(); }

}  // namespace thalweg
