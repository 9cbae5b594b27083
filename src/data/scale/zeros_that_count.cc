#include "data/scale/zeros_that_count.h"

#include "base/check.h"
#include "data/scale/value_scales.h"

namespace thalweg {

ZerosThatCount::ZerosThatCount(const ReadOptions& options) {
  const Result<ValueScales> scales = ValueScales::parse(options.value_scales);
  THALWEG_CHECK(scales.ok(), "scales were looked at before");
  for (const auto& [key, form] : scales->all()) {
    if (form.offset != 0) keys_.insert(key);
  }
}

}  // namespace thalweg
