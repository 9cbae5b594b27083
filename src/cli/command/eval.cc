// eval: how good a model is on rows with labels.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/scored_rows.h"
#include "model/metric/metric.h"
#include "train/train_advice.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

ordered_json number_or_null(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

Status run_eval(const Options& options, Output& out) {
  ExactAuc auc;
  std::optional<MetricSums> sums;
  const auto add = [&](const ScoredRows& scored) {
    const auto& [loss, rows, scores, sum] = scored;
    if (!sums) sums.emplace(loss);
    if (!is_of_score(loss)) {
      sums->add_classes(sum, scores, rows.labels, rows.weights);
      return ok_status();
    }
    sums->add(scores, rows.labels, rows.weights);
    for (std::size_t row = 0; row < scores.size() && loss == Loss::kLogistic; ++row) {
      auc.add(scores[row], rows.labels[row] > 0, rows.weights.empty() ? 1.0f : rows.weights[row]);
    }
    return ok_status();
  };
  const Result<Scored> scored = score_rows(options, true, add);
  if (!scored) return scored.status();
  if (!sums) return {Code::kData, "no row in the input"};
  note_oddities(*scored, out);
  const Loss loss = scored->loss;
  const Measured rows{sums->sums(), auc.value()};
  if (const std::string text = one_label(loss, rows); !text.empty()) out.warn(text);
  if (const std::string text = worse_than_none(standing_on("measured", loss, rows)); !text.empty()) {
    out.warn(text);
  }
  out.human(fmt::format("{:<12} {}\n", "examples", rows.sums.rows));
  ordered_json json = {{"examples", rows.sums.rows}, {"skipped_rows", scored->skipped}};
  for (const Metric* metric : metrics()) {
    const double value = metric->value(loss, rows);
    json[std::string(metric->name)] = number_or_null(value);
    if (metric->told(loss) < Told::kEval || !std::isfinite(value)) continue;
    out.human(fmt::format("{:<12} {:.6f}\n", metric->name, value));
  }
  json["seconds"] = scored->seconds;
  out.json(std::move(json));
  return ok_status();
}

std::string metric_help() {
  std::string text = "Metrics:\n";
  for (const Metric* metric : metrics()) text += fmt::format("  {:<16} {}\n", metric->name, metric->summary);
  return text;
}

}  // namespace

extern constinit const Command kEvalCommand = {
    .path = "eval",
    .summary = "Measure a model on rows with labels",
    .example = "thalweg eval --model runs/ctr test.svm",
    .run = run_eval,
    .options = {kReadOptions, "from-command|threads|model-dir"},
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
    .more_help = metric_help,
};

}  // namespace thalweg
