#include "train/report/told_pass.h"

#include <chrono>
#include <cmath>
#include <string>

namespace thalweg {
namespace {

HeldOutNumbers held_out_numbers(const Measured& rows, Loss loss, const MetricList& own) {
  const auto value = [&](const Metric& metric) { return metric.value(loss, rows); };
  HeldOutNumbers out{rows.sums.rows, value(kLogLoss), value(kAuc), value(kRmse), value(kCalibration), {}};
  for (const Metric* metric : metrics(own)) {
    if (metric->told(loss) != Told::kNoOne) out.metrics[std::string(metric->name)] = value(*metric);
  }
  return out;
}

}  // namespace

double mean_loss(const LossSum& sum) { return sum.weight > 0 ? sum.loss / sum.weight : std::nan(""); }

TrainEpoch told_pass(const EpochNumbers& numbers, std::uint32_t number, Loss loss, const MetricList& own) {
  TrainEpoch out;
  out.number = number;
  out.examples = numbers.rows;
  out.seconds = std::chrono::duration<double>(numbers.ended - Instant{}).count();
  out.costs.steps = numbers.steps_before + numbers.steps;
  out.train_loss = mean_loss(numbers.train);
  if (numbers.has_valid) out.held_out = held_out_numbers(numbers.valid, loss, own);
  return out;
}

}  // namespace thalweg
