#include <cmath>

#include "model/metric/metric.h"

namespace thalweg {
namespace {

double nats_of(const Measured& rows) { return mean_of(rows.sums.loss, rows); }

double untrained_nats(const Measured&) { return std::log(256.0); }

double nats_of_mean(double mean) { return mean; }

}  // namespace

extern constinit const Metric kNatsPerByte = {
    .name = "nats_per_byte",
    .summary = "mean of -log(probability of the byte that follows)",
    .bytes = Told::kEachPass,
    .of = nats_of,
    .untrained = untrained_nats,
    .of_mean_loss = nats_of_mean,
};

}  // namespace thalweg
