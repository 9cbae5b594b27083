// model importance: which features move the scores of given rows most.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/score/feature_names.h"
#include "cli/score/linear_weights.h"
#include "cli/score/shown_features.h"
#include "cli/view/output.h"
#include "cli/work/stored_model.h"
#include "model/predictor.h"

namespace thalweg {
namespace {

constexpr OptionRow kImportanceOptions[] = {
    {.name = "most",
     .type = OptionType::kInt,
     .group = "Output",
     .help = "Features to show, the most important first",
     .example = "50",
     .fallback = "20",
     .placeholder = "N",
     .low = 1,
     .high = 1e7,
     .flag = "top"},
};

struct Share {
  std::vector<float> weights;  // One, or one for each class.
  double sizes = 0;            // Of values, over rows.
  std::uint64_t entries = 0;
};
using Shares = std::unordered_map<Key, Share>;  // Of features that the model knows.

void add_entries(const FrozenTable& weights, const Batch& rows, Shares& shares) {
  std::vector<float> row(weights.dim());
  for (std::size_t e = 0; e < rows.keys.size(); ++e) {
    const PlacedKey placed = place(rows.keys[e]);
    if (weights.read({&placed, 1}, row) == 0) continue;
    Share& share = shares[rows.keys[e]];
    if (share.weights.empty()) share.weights = row;
    share.sizes += rows.values.empty() ? 1.0 : std::abs(static_cast<double>(rows.values[e]));
    ++share.entries;
  }
}

Status run_model_importance(const Options& options, Output& out) {
  const Result<ModelReader> model = open_model(options.arguments()[0]);
  if (!model) return model.status();
  const Result<std::size_t> table = weights_table(*model);
  if (!table) return table.status();
  const Result<FrozenTable> weights = FrozenTable::load(*model, *table);
  if (!weights) return as_model(weights.status());
  const std::vector<std::string> files(options.arguments().begin() + 1, options.arguments().end());
  Shares shares;
  std::uint64_t examples = 0;
  bool once = false;
  Status status = read_features(model->manifest(), options, files, [&](const InputBatch& batch) {
    add_entries(*weights, batch.rows, shares);
    examples += batch.rows.rows();
    once = !batch.data.seekable();
    return true;
  });
  if (!status.ok()) return status;
  TopFeatures top(static_cast<std::size_t>(options.integer("most")));
  for (const auto& [key, share] : shares) {
    for (std::uint32_t c = 0; c < share.weights.size(); ++c) {
      const double sum = std::abs(static_cast<double>(share.weights[c])) * share.sizes;
      if (top.wants(key, sum, c)) top.add({key, share.weights[c], sum, {}, c});
    }
  }
  std::vector<Feature> features = top.take();
  if (!once) status = name_features(model->manifest(), options, files, features);
  if (!status.ok()) return status;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const ShownFeatures shown(model->manifest());
  out.human(fmt::format("{:>14} {:>12} {:>14}  {}\n", "importance", "entries", "weight", shown.title()));
  for (const Feature& feature : features) {
    const double mean = feature.rank / static_cast<double>(examples);
    const std::uint64_t entries = shares[feature.key].entries;
    out.human(fmt::format("{:>14.6g} {:>12} {:>14.6g}  {}\n", mean, entries, feature.weight,
                          shown.line_end(feature)));
    nlohmann::ordered_json one = shown.object(feature);
    one["importance"] = mean, one["entries"] = entries, one["weight"] = feature.weight;
    list.push_back(std::move(one));
  }
  out.json({{"examples", examples}, {"features", list}});
  return ok_status();
}

}  // namespace

extern constinit const Command kModelImportanceCommand = {
    .path = "model importance",
    .summary = "Show which features move the scores of these rows most, by their weights",
    .example = "thalweg model importance runs/ctr test.csv",
    .run = run_model_importance,
    .options = {kReadOptions},
    .own = kImportanceOptions,
    .arguments = "DIR FILE...",
    .arguments_min = 2,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
