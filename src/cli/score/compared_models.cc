#include "cli/score/compared_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/score/row_groups.h"
#include "cli/score/scored_rows.h"
#include "cli/score/shown_bins.h"
#include "model/metric/group_bootstrap.h"
#include "model/metric/paired_bootstrap.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kResamples = 1000;
constexpr std::uint64_t kBootstrapSeed = 1;

struct Contender {
  std::string directory;
  std::unique_ptr<RowScorer> scorer;
  MetricSums sums;
  ExactAuc auc{};
  Measured measured{};
  GroupRows groups{kGroupRowsMax};
};

ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

Result<std::vector<Contender>> open_contenders(const Options& options,
                                               const std::vector<std::string>& directories) {
  std::vector<Contender> all;
  for (const std::string& directory : directories) {
    const bool lines = all.empty() && options.has("by");  // Groups are those of the first one's rows.
    Result<std::unique_ptr<RowScorer>> scorer =
        RowScorer::open(options, directory, {.labels = true, .lines = lines});
    if (!scorer) return scorer.status();
    const Loss loss = (*scorer)->predictor().spec().loss;
    if (!(*scorer)->data().seekable()) {
      return Status(Code::kUsage,
                    "standard input or a pipe can be read only once, expected files for several models");
    }
    if (!is_of_score(loss)) {
      return Status(Code::kUsage,
                    fmt::format("{}: models of loss {} are measured one by one", directory, loss_name(loss)));
    }
    if (Status status = check_bins(options, loss); !status.ok()) return status;
    if (!all.empty() && loss != all.front().scorer->predictor().spec().loss) {
      return Status(Code::kUsage,
                    fmt::format("{} and {} are of different losses", all.front().directory, directory));
    }
    all.push_back({.directory = directory, .scorer = *std::move(scorer), .sums = MetricSums(loss)});
  }
  return all;
}

// Moves all to their next rows; how many, 0 at the end.
Result<std::size_t> next_rows(std::vector<Contender>& all) {
  std::size_t rows = 0;
  for (Contender& one : all) {
    const Result<std::size_t> count = one.scorer->next();
    if (!count) return count;
    const bool first = &one == all.data();
    if (first) rows = *count;
    if (*count == rows &&
        (rows == 0 || one.scorer->scored().rows.labels == all.front().scorer->scored().rows.labels))
      continue;
    return Status(Code::kData,
                  fmt::format("{} and {} read other rows of the input, expected the same: bad rows of one "
                              "may be none of the other",
                              all.front().directory, one.directory));
  }
  return rows;
}

// `grouping`: null where nobody asks for groups.
void add_rows(std::vector<Contender>& all, RowGroups* grouping, PairedBootstrap& bootstrap) {
  std::vector<std::span<const float>> scores;
  const ScoredRows first = all.front().scorer->scored();
  const Batch& rows = first.rows;
  std::vector<std::uint64_t> groups;
  for (std::size_t row = 0; grouping != nullptr && row < first.scores.size(); ++row)
    groups.push_back(grouping->of(first.lines.line(row)));
  for (Contender& one : all) {
    scores.emplace_back(one.scorer->scored().scores);
    one.sums.add(scores.back(), rows.labels, rows.weights);
    for (std::size_t row = 0; row < rows.labels.size(); ++row) {
      const float score = scores.back()[row], weight = rows.weights.empty() ? 1.0f : rows.weights[row];
      if (first.loss == Loss::kLogistic) one.auc.add(score, rows.labels[row] > 0, weight);
      if (grouping != nullptr) one.groups.add({groups[row], score, rows.labels[row], weight});
    }
  }
  bootstrap.add(scores, rows.labels, rows.weights);
}

Status measure(std::vector<Contender>& all, RowGroups* grouping, PairedBootstrap& bootstrap) {
  for (;;) {
    const Result<std::size_t> count = next_rows(all);
    if (!count) return count.status();
    if (*count == 0) break;
    add_rows(all, grouping, bootstrap);
  }
  for (Contender& one : all) one.measured = {one.sums.sums(), one.auc.value(), one.auc.average_precision()};
  return grouping != nullptr ? grouping->check() : ok_status();
}

// A line of each metric and model, and what --json has of them.
class ContenderTable {
 public:
  ContenderTable(const std::vector<Contender>& all, Output& out) : out_(out) {
    for (const Contender& one : all) {
      width_ = std::max(width_, one.directory.size());
      models_.push_back({{"model", one.directory}});
    }
    out.human(fmt::format("{:<18} {:<{}} {:>10}  {:>10}  {}\n", "metric", "model", width_, "value",
                          "difference", "95 % interval"));
  }

  // `distance`: of the model's difference, what interval_of_distances() gives.
  void add(const std::string& name, const std::string& title, bool shown, std::span<const double> values,
           const std::function<Spread(std::size_t)>& distance) {
    for (std::size_t m = 0; m < values.size(); ++m) {
      ordered_json& model = models_[m];
      model[name] = finite_or_null(values[m]);
      std::string line = fmt::format("{:<18} {:<{}} {:>10.6f}", m == 0 ? title : "",
                                     model["model"].get<std::string>(), width_, values[m]);
      if (m > 0) {
        const auto [low, high] = distance(m);
        const double difference = values[m] - values[0];
        model["difference"][name] = {{"value", finite_or_null(difference)},
                                     {"low", finite_or_null(difference + low)},
                                     {"high", finite_or_null(difference + high)}};
        line +=
            fmt::format("  {:>+10.6f}  {:+.6f} to {:+.6f}", difference, difference + low, difference + high);
      }
      if (shown && std::isfinite(values[m])) out_.human(line + "\n");
    }
  }

  const ordered_json& models() const { return models_; }

 private:
  Output& out_;
  std::size_t width_ = 5;
  ordered_json models_ = ordered_json::array();
};

// Metrics of groups, whose intervals are those of drawn groups; what --json has of the grouping.
ordered_json add_groups(const Options& options, std::vector<Contender>& all, ContenderTable& table,
                        Output& out) {
  const auto k = static_cast<std::size_t>(options.integer("at"));
  std::vector<GroupBootstrap> bootstraps(all.size(), GroupBootstrap(kResamples, kBootstrapSeed));
  std::vector<GroupRows::Measures> measures;
  for (std::size_t m = 0; m < all.size(); ++m) measures.push_back(bootstraps[m].measure(all[m].groups, k));
  ordered_json grouping = tell_of_grouping(options, measures.front(), out);
  const auto metrics = group_metrics();
  for (std::size_t g = 0; g < metrics.size(); ++g) {
    const std::string name(metrics[g]->name);
    std::vector<double> values;
    for (const GroupRows::Measures& one : measures) values.push_back(one.values[g]);
    table.add(name, metrics[g]->at_k ? fmt::format("{}@{}", name, k) : name, true, values,
              [&](std::size_t m) { return bootstraps[m].difference(bootstraps.front(), g); });
  }
  return grouping;
}

}  // namespace

Status compare_models(const Options& options, const std::vector<std::string>& directories, Output& out) {
  Result<std::vector<Contender>> all = open_contenders(options, directories);
  if (!all) return all.status();
  std::optional<RowGroups> grouping;
  if (options.has("by")) {
    Result<RowGroups> found = RowGroups::find(all->front().scorer->data(), options.text("by"));
    if (!found) return found.status();
    grouping = *std::move(found);
  }
  const Loss loss = all->front().scorer->predictor().spec().loss;
  PairedBootstrap bootstrap(loss, all->size(), kResamples, kBootstrapSeed);
  if (Status status = measure(*all, grouping ? &*grouping : nullptr, bootstrap); !status.ok()) return status;
  const Scored scored = all->front().scorer->summary();
  for (const Contender& one : *all) note_oddities(one.scorer->summary(), out, one.directory);
  out.human(fmt::format("{} rows\n", scored.rows));
  ContenderTable table(*all, out);
  for (const Metric* metric : metrics()) {
    const std::string name(metric->name);
    std::vector<double> values;
    for (const Contender& one : *all) values.push_back(metric->value(loss, one.measured));
    table.add(name, name, metric->told(loss) >= Told::kEval, values,
              [&](std::size_t m) { return bootstrap.difference(*metric, m); });
  }
  ordered_json json = {{"examples", scored.rows}, {"skipped_rows", scored.skipped}};
  if (grouping) json["groups"] = add_groups(options, *all, table, out);
  json["models"] = table.models();
  for (std::size_t m = 0; options.has("bins") && m < all->size(); ++m) {
    out.human(fmt::format("\n{}\n", (*all)[m].directory));
    json["models"][m]["bins"] = tell_of_bins(options, (*all)[m].auc, out);
  }
  json["resamples"] = kResamples;
  json["seconds"] = scored.seconds;
  out.json(json);
  return ok_status();
}

}  // namespace thalweg
