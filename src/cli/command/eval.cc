// eval: how good a model is on rows with labels.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/scored_rows.h"
#include "model/metrics.h"
#include "train/train_advice.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

ordered_json number_or_null(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

Status run_eval(const Options& options, Output& out) {
  ExactAuc auc;
  std::optional<Metrics> metrics;
  const auto add = [&](Loss loss, const Batch& rows, const std::vector<float>& scores) {
    if (!metrics) metrics.emplace(loss);
    metrics->add(scores, rows.labels, rows.weights);
    for (std::size_t row = 0; row < scores.size() && loss == Loss::kLogistic; ++row) {
      auc.add(scores[row], rows.labels[row] > 0, rows.weights.empty() ? 1.0f : rows.weights[row]);
    }
    return ok_status();
  };
  const Result<Scored> scored = score_rows(options, true, add);
  if (!scored) return scored.status();
  if (!metrics) return {Code::kData, "no row in the input"};
  note_oddities(*scored, out);
  const MetricValues values = metrics->values();
  if (const std::string text = one_label(scored->loss, values); !text.empty()) out.warn(text);
  const double area = auc.value();
  if (const std::string text = worse_than_none(standing_on("measured", scored->loss, values, area));
      !text.empty()) {
    out.warn(text);
  }
  const bool logistic = scored->loss == Loss::kLogistic;
  const auto show = [&](std::string_view name, double value) {
    if (std::isfinite(value)) out.human(fmt::format("{:<12} {:.6f}\n", name, value));
  };
  out.human(fmt::format("{:<12} {}\n", "examples", values.rows));
  if (logistic) show("auc", area);
  show("logloss", values.logloss);
  show("rmse", values.rmse);
  show("accuracy", values.accuracy);
  show("calibration", values.calibration);
  out.json({{"examples", values.rows},
            {"skipped_rows", scored->skipped},
            {"auc", logistic ? number_or_null(area) : ordered_json()},
            {"logloss", number_or_null(values.logloss)},
            {"rmse", number_or_null(values.rmse)},
            {"accuracy", number_or_null(values.accuracy)},
            {"calibration", number_or_null(values.calibration)},
            {"mean_prediction", number_or_null(values.mean_prediction)},
            {"mean_label", number_or_null(values.mean_label)},
            {"seconds", scored->seconds}});
  return ok_status();
}

}  // namespace

extern constinit const Command kEvalCommand = {
    .path = "eval",
    .summary = "Measure a model on rows with labels",
    .example = "thalweg eval --model runs/ctr test.svm",
    .run = run_eval,
    .options = {kReadOptions, "threads|model-dir"},
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
