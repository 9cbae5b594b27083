// How far the difference of two models' metrics of groups may be off, since groups are a sample: as
// PairedBootstrap has it of rows, of whole groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/metric/group_rows.h"
#include "model/metric/resamples.h"

namespace thalweg {

// Metrics of groups of one model in each resample. Which groups a resample has follows from their names and
// the seed alone, so that it has the same ones of each model.
class GroupBootstrap {
 public:
  GroupBootstrap(std::size_t resamples, std::uint64_t seed);
  GroupRows::Measures measure(GroupRows& rows, std::size_t k);
  // Of the metric at `metric` of group_metrics(), once both are measured.
  Spread difference(const GroupBootstrap& first, std::size_t metric) const;

 private:
  struct Sums {
    std::vector<double> values, weights;  // By column; the first is of all groups.
  };
  std::uint64_t seed_;
  std::vector<double> times_;
  std::vector<Sums> sums_;  // By metric.
};

}  // namespace thalweg
