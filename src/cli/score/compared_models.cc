#include "cli/score/compared_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/score/scored_rows.h"
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
};

ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

Result<std::vector<Contender>> open_contenders(const Options& options,
                                               const std::vector<std::string>& directories) {
  std::vector<Contender> all;
  for (const std::string& directory : directories) {
    Result<std::unique_ptr<RowScorer>> scorer = RowScorer::open(options, directory, {.labels = true});
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
    if (!all.empty() && loss != all.front().scorer->predictor().spec().loss) {
      return Status(Code::kUsage,
                    fmt::format("{} and {} are of different losses", all.front().directory, directory));
    }
    all.push_back({directory, *std::move(scorer), MetricSums(loss)});
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

Status measure(std::vector<Contender>& all, PairedBootstrap& bootstrap) {
  for (;;) {
    const Result<std::size_t> count = next_rows(all);
    if (!count) return count.status();
    if (*count == 0) break;
    std::vector<std::span<const float>> scores;
    for (Contender& one : all) {
      const ScoredRows scored = one.scorer->scored();
      scores.emplace_back(scored.scores);
      one.sums.add(scored.scores, scored.rows.labels, scored.rows.weights);
      for (std::size_t row = 0; row < *count && scored.loss == Loss::kLogistic; ++row) {
        one.auc.add(scored.scores[row], scored.rows.labels[row] > 0,
                    scored.rows.weights.empty() ? 1.0f : scored.rows.weights[row]);
      }
    }
    const Batch& rows = all.front().scorer->scored().rows;
    bootstrap.add(scores, rows.labels, rows.weights);
  }
  for (Contender& one : all) one.measured = {one.sums.sums(), one.auc.value(), one.auc.average_precision()};
  return ok_status();
}

}  // namespace

Status compare_models(const Options& options, const std::vector<std::string>& directories, Output& out) {
  Result<std::vector<Contender>> all = open_contenders(options, directories);
  if (!all) return all.status();
  const Loss loss = all->front().scorer->predictor().spec().loss;
  PairedBootstrap bootstrap(loss, all->size(), kResamples, kBootstrapSeed);
  if (Status status = measure(*all, bootstrap); !status.ok()) return status;
  const Scored scored = all->front().scorer->summary();
  for (const Contender& one : *all) note_oddities(one.scorer->summary(), out);
  std::size_t width = 5;
  ordered_json models = ordered_json::array();
  for (const Contender& one : *all) {
    width = std::max(width, one.directory.size());
    models.push_back({{"model", one.directory}});
  }
  out.human(fmt::format("{} rows\n{:<18} {:<{}} {:>10}  {:>10}  {}\n", scored.rows, "metric", "model", width,
                        "value", "difference", "95 % interval"));
  for (const Metric* metric : metrics()) {
    const std::string name(metric->name);
    const double base = metric->value(loss, all->front().measured);
    for (std::size_t m = 0; m < all->size(); ++m) {
      const double value = metric->value(loss, (*all)[m].measured);
      models[m][name] = finite_or_null(value);
      const bool shown = metric->told(loss) >= Told::kEval && std::isfinite(value);
      std::string line =
          fmt::format("{:<18} {:<{}} {:>10.6f}", m == 0 ? name : "", (*all)[m].directory, width, value);
      if (m > 0) {
        const auto [low, high] = bootstrap.difference(*metric, m);
        const double difference = value - base;
        models[m]["difference"][name] = {{"value", finite_or_null(difference)},
                                         {"low", finite_or_null(difference + low)},
                                         {"high", finite_or_null(difference + high)}};
        line +=
            fmt::format("  {:>+10.6f}  {:+.6f} to {:+.6f}", difference, difference + low, difference + high);
      }
      if (shown) out.human(line + "\n");
    }
  }
  out.json({{"examples", scored.rows},
            {"skipped_rows", scored.skipped},
            {"models", models},
            {"resamples", kResamples},
            {"seconds", scored.seconds}});
  return ok_status();
}

}  // namespace thalweg
