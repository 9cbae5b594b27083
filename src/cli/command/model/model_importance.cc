// model importance: which features move the scores of given rows most.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/score/feature_names.h"
#include "cli/score/linear_weights.h"
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
  float weight = 0;
  double sum = 0;  // Of |weight * value| over rows.
  std::uint64_t entries = 0;
};
using Shares = std::unordered_map<Key, Share>;  // Of features that the model knows.

void add_entries(const FrozenTable& weights, const Batch& rows, Shares& shares) {
  for (std::size_t e = 0; e < rows.keys.size(); ++e) {
    const PlacedKey placed = place(rows.keys[e]);
    float weight = 0;
    if (weights.read({&placed, 1}, {&weight, 1}) == 0) continue;
    Share& share = shares[rows.keys[e]];
    share.weight = weight;
    share.sum += std::abs(static_cast<double>(weight) *
                          (rows.values.empty() ? 1.0 : static_cast<double>(rows.values[e])));
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
    if (top.wants(key, share.sum)) top.add({key, share.weight, share.sum});
  }
  const std::vector<Feature> features = top.take();
  std::unordered_set<Key> keys;
  for (const Feature& feature : features) keys.insert(feature.key);
  Result<std::unordered_map<Key, std::string>> names = std::unordered_map<Key, std::string>();
  if (!once) names = names_of_keys(model->manifest(), options, files, std::move(keys));
  if (!names) return names.status();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  out.human(fmt::format("{:>14} {:>12} {:>14}  {}\n", "importance", "entries", "weight", "feature"));
  for (const Feature& feature : features) {
    const auto found = names->find(feature.key);
    const std::string name = found == names->end() ? fmt::format("{}", feature.key) : found->second;
    const double mean = feature.rank / static_cast<double>(examples);
    const std::uint64_t entries = shares[feature.key].entries;
    out.human(fmt::format("{:>14.6g} {:>12} {:>14.6g}  {}\n", mean, entries, feature.weight, name));
    list.push_back({{"key", feature.key},
                    {"name", name},
                    {"importance", mean},
                    {"entries", entries},
                    {"weight", feature.weight}});
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
