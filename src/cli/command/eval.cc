// eval: how good a model is on rows with labels.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command/command.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/score/compared_models.h"
#include "cli/score/row_groups.h"
#include "cli/score/scored_rows.h"
#include "cli/score/shown_bins.h"
#include "cli/view/output.h"
#include "model/metric/group_rows.h"
#include "model/metric/metric.h"
#include "train/advice/train_advice.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

constexpr OptionRow kEvalOptions[] = {
    {.name = "models",
     .type = OptionType::kText,
     .group = "Model",
     .help = "Directory that train wrote; given again, each is compared with the first",
     .example = "runs/ctr",
     .placeholder = "DIR",
     .flag = "model",
     .repeats = true},
    {.name = "by",
     .type = OptionType::kText,
     .group = "Output",
     .help = "Measure within groups of rows too: a column of CSV or member of JSON lines, such as the user, "
             "or libsvm's qid",
     .example = "user",
     .placeholder = "COLUMN"},
    {.name = "at",
     .type = OptionType::kInt,
     .group = "Output",
     .help = "Rows of a group, the first by score, that ndcg and map look at; with --by",
     .example = "5",
     .fallback = "10",
     .placeholder = "K",
     .low = 1,
     .high = 1e9},
    {.name = "bins",
     .type = OptionType::kInt,
     .group = "Output",
     .help = "Show mean prediction and mean label of N bins of equally many rows, by prediction",
     .example = "10",
     .placeholder = "N",
     .low = 1,
     .high = 10000},
};

ordered_json number_or_null(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

std::string line_of(std::string_view name, double value) {
  return std::isfinite(value) ? fmt::format("{:<18} {:.6f}\n", name, value) : std::string();
}

// All that is kept of the rows of one model.
struct Kept {
  ExactAuc auc;
  std::optional<MetricSums> sums;
  std::optional<RowGroups> grouping;
  GroupRows groups{kGroupRowsMax};

  Status add(const ScoredRows& scored) {
    const auto& [loss, rows, scores, sum, lines] = scored;
    if (!sums) sums.emplace(loss);
    if (!is_of_score(loss)) {
      sums->add_classes(sum, scores, rows.labels, rows.weights);
      return ok_status();
    }
    sums->add(scores, rows.labels, rows.weights);
    for (std::size_t row = 0; row < scores.size(); ++row) {
      const float weight = rows.weights.empty() ? 1.0f : rows.weights[row];
      if (loss == Loss::kLogistic) auc.add(scores[row], rows.labels[row] > 0, weight);
      if (grouping) groups.add({grouping->of(lines.line(row)), scores[row], rows.labels[row], weight});
    }
    return ok_status();
  }
};

void tell_of_groups(const Options& options, GroupRows& rows, Output& out, ordered_json& json) {
  const auto k = static_cast<std::size_t>(options.integer("at"));
  const GroupRows::Measures measures = rows.measure(k);
  ordered_json all = tell_of_grouping(options, measures, out);
  const auto metrics = group_metrics();
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const std::string name(metrics[m]->name);
    all[name] = number_or_null(measures.values[m]);
    out.human(line_of(metrics[m]->at_k ? fmt::format("{}@{}", name, k) : name, measures.values[m]));
  }
  json["groups"] = std::move(all);
}

Status check_asked(const Options& options, const ModelSpec& model) {
  if (options.has("by") && !is_of_score(model.loss)) {
    return {Code::kUsage,
            fmt::format("--by compares scores, and the model's loss is {}", loss_name(model.loss))};
  }
  return check_bins(options, model.loss);
}

Status run_eval(const Options& options, Output& out) {
  const std::vector<std::string> models = options.texts("models");
  if (models.empty()) return no_model();
  if (options.origin("at") != Origin::kDefault && !options.has("by"))
    return {Code::kUsage, "--at is of the rows of a group; expected --by, which says what the groups are"};
  if (models.size() > 1) return compare_models(options, models, out);
  const Result<std::unique_ptr<RowScorer>> scorer =
      RowScorer::open(options, models.front(), {.labels = true, .lines = options.has("by")});
  if (!scorer) return scorer.status();
  if (Status status = check_asked(options, (*scorer)->predictor().spec()); !status.ok()) return status;
  Kept kept;
  if (options.has("by")) {
    Result<RowGroups> grouping = RowGroups::find((*scorer)->data(), options.text("by"));
    if (!grouping) return grouping.status();
    kept.grouping = *std::move(grouping);
  }
  Status status = score_rows(**scorer, [&](const ScoredRows& scored) { return kept.add(scored); });
  if (!status.ok()) return status;
  if (!kept.sums) return {Code::kData, "no row in the input"};
  if (status = kept.grouping ? kept.grouping->check() : ok_status(); !status.ok()) return status;
  const Scored scored = (*scorer)->summary();
  note_oddities(scored, out);
  const Loss loss = scored.loss;
  const Measured rows{kept.sums->sums(), kept.auc.value(), kept.auc.average_precision()};
  if (const std::string text = one_label(loss, rows); !text.empty()) out.warn(text);
  const JudgedBy judged((*scorer)->predictor().spec());
  if (const std::string text = worse_than_none(standing_on("measured", judged, rows)); !text.empty()) {
    out.warn(text);
  }
  out.human(fmt::format("{:<18} {}\n", "examples", rows.sums.rows));
  ordered_json json = {{"examples", rows.sums.rows}, {"skipped_rows", scored.skipped}};
  for (const Metric* metric : metrics()) {
    const double value = metric->value(loss, rows);
    json[std::string(metric->name)] = number_or_null(value);
    if (metric->told(loss) >= Told::kEval) out.human(line_of(metric->name, value));
  }
  if (options.has("by")) tell_of_groups(options, kept.groups, out, json);
  if (options.has("bins")) {
    out.human("\n");
    json["bins"] = tell_of_bins(options, kept.auc, out);
  }
  json["seconds"] = scored.seconds;
  out.json(json);
  return ok_status();
}

std::string metric_help() {
  std::string text = "Metrics:\n";
  for (const Metric* metric : metrics()) text += fmt::format("  {:<18} {}\n", metric->name, metric->summary);
  text += "Metrics of groups, with --by:\n";
  for (const GroupMetric* metric : group_metrics()) {
    text += fmt::format("  {:<18} {}\n", metric->name, metric->summary);
  }
  return text;
}

}  // namespace

extern constinit const Command kEvalCommand = {
    .path = "eval",
    .summary = "Measure a model on rows with labels",
    .example = "thalweg eval --model runs/ctr test.svm",
    .run = run_eval,
    .options = {kReadOptions, "from-command|command-timeout|threads"},
    .own = kEvalOptions,
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
    .more_help = metric_help,
};

}  // namespace thalweg
