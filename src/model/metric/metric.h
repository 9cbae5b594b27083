// A metric: what it is called, who tells of it, and how it is computed from what parts of the data add up.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "model/metric/metric_sums.h"

namespace thalweg {

// Of some rows, all parts merged.
struct Measured {
  MetricSums::Sums sums;
  // Of the merged counts, where they were counted.
  double auc = std::numeric_limits<double>::quiet_NaN();
  double average_precision = std::numeric_limits<double>::quiet_NaN();
};
// sum / weight of the rows; NaN when that is 0.
double mean_of(double sum, const Measured& rows);

// Who tells of a metric; each of these tells of those below it as well.
enum class Told : std::uint8_t {
  kNoOne,     // It means nothing for this loss: NaN, in eval --json null.
  kFields,    // eval --json
  kEval,      // eval
  kTrain,     // train --json, as valid_NAME
  kEachPass,  // the line of each pass, and the saved model
};

// One a file in this folder; what a metric of an application's own is as well, see TrainParts::metrics.
struct Metric {
  std::string_view name;     // Lower case, as a field of --json.
  std::string_view summary;  // A few words.
  Told logistic = Told::kNoOne, squared = Told::kNoOne, classes = Told::kNoOne, bytes = Told::kNoOne,
       poisson = Told::kNoOne;
  double (*of)(const Measured& rows) = nullptr;
  // Of those by which models are judged, see judging_metric(): what it is for the mean label as every row's
  // prediction, what for a model whose weights are all 0, and what for a mean of the rows' losses. The first
  // two are not known for classes.
  double (*constant)(const Measured& rows) = nullptr;
  double (*untrained)(const Measured& rows) = nullptr;
  double (*of_mean_loss)(double mean) = nullptr;

  Told told(Loss loss) const {
    switch (loss) {
      case Loss::kLogistic:
        return logistic;
      case Loss::kSquared:
        return squared;
      case Loss::kClasses:
        return classes;
      case Loss::kBytes:
        return bytes;
      case Loss::kPoisson:
        return poisson;
    }
    return Told::kNoOne;
  }
  double value(Loss loss, const Measured& rows) const {
    return told(loss) == Told::kNoOne ? std::numeric_limits<double>::quiet_NaN() : of(rows);
  }
};
using MetricList = std::vector<const Metric*>;

// The built-in ones, in the order in which they are told, then `more`.
MetricList metrics(const MetricList& more = {});
// The lower, the better: by it passes are compared, and models with none.
const Metric& judging_metric(Loss loss);
// Whether that one is the mean of the rows' losses.
inline bool is_mean_loss(Loss loss) { return loss != Loss::kSquared && loss != Loss::kPoisson; }

// Those that are asked for by themselves.
extern const Metric kAccuracy, kAuc, kDeviance, kLogLoss, kNatsPerByte, kRmse, kCalibration, kMeanLabel;

}  // namespace thalweg
