// model weights: the largest weights, by name.
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

constexpr OptionRow kWeightsOptions[] = {
    {.name = "names",
     .type = OptionType::kText,
     .group = "Input",
     .help = "Data that has the features, such as what the model learnt from; may be given again",
     .example = "train.csv",
     .placeholder = "FILE",
     .repeats = true},
    {.name = "top",
     .type = OptionType::kInt,
     .group = "Output",
     .help = "Weights to show, the largest either way first",
     .example = "50",
     .fallback = "20",
     .placeholder = "N",
     .low = 1,
     .high = 1e7},
    {.name = "column",
     .type = OptionType::kText,
     .group = "Output",
     .help = "Only features of this column; with --names",
     .example = "site",
     .placeholder = "NAME"},
};

Status add_all(const ModelReader& model, std::size_t table, TopFeatures& top) {
  return as_model(model.scan(table, false, [&](const StoredRows& rows) {
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      const double size = std::abs(static_cast<double>(rows.rows[i]));
      if (top.wants(rows.keys[i], size)) top.add({rows.keys[i], rows.rows[i], size});
    }
    return ok_status();
  }));
}

// Of features that the data has, those that are called COLUMN or COLUMN=something.
Status add_column(const ModelReader& model, const FrozenTable& weights, const Options& options,
                  TopFeatures& top) {
  const std::string& column = options.text("column");
  std::vector<std::string> names;
  const auto is_of = [&](const std::string& name) {
    return name.starts_with(column) && (name.size() == column.size() || name[column.size()] == '=');
  };
  return read_features(model.manifest(), options, options.texts("names"), [&](const InputBatch& batch) {
    for (std::size_t row = 0; row < batch.rows.rows(); ++row) {
      name_entries(batch.data, batch.rows, batch.lines, row, names);
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (!is_of(names[i])) continue;
        const Key key = batch.rows.keys[batch.rows.row_begin[row] + i];
        const PlacedKey placed = place(key);
        float weight = 0;
        if (weights.read({&placed, 1}, {&weight, 1}) == 0) continue;
        const double size = std::abs(static_cast<double>(weight));
        if (top.wants(key, size)) top.add({key, weight, size, names[i]});
      }
    }
    return true;
  });
}

Status name_all(const ModelReader& model, const Options& options, std::vector<Feature>& features) {
  std::unordered_set<Key> keys;
  for (const Feature& feature : features) keys.insert(feature.key);
  const auto names = names_of_keys(model.manifest(), options, options.texts("names"), std::move(keys));
  if (!names) return names.status();
  for (Feature& feature : features) {
    if (const auto found = names->find(feature.key); found != names->end()) feature.name = found->second;
  }
  return ok_status();
}

Status run_model_weights(const Options& options, Output& out) {
  const Result<ModelReader> model = open_model(options.arguments()[0]);
  if (!model) return model.status();
  const Result<std::size_t> table = weights_table(*model);
  if (!table) return table.status();
  const Result<float> bias = bias_of(*model);
  if (!bias) return bias.status();
  TopFeatures top(static_cast<std::size_t>(options.integer("top")));
  Status status;
  if (!options.has("column")) {
    status = add_all(*model, *table, top);
  } else if (!options.has("names")) {
    status = {Code::kUsage, "--column needs --names FILE, data that has the column"};
  } else {
    const Result<FrozenTable> weights = FrozenTable::load(*model, *table);
    if (!weights) return as_model(weights.status());
    status = add_column(*model, *weights, options, top);
  }
  if (!status.ok()) return status;
  std::vector<Feature> features = top.take();
  if (options.has("names") && !options.has("column")) status = name_all(*model, options, features);
  if (!status.ok()) return status;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  out.human(fmt::format("{:>14}  {}\n{:>14.6g}  bias\n", "weight", "feature", *bias));
  for (const Feature& feature : features) {
    const std::string name = feature.name.empty() ? fmt::format("{}", feature.key) : feature.name;
    out.human(fmt::format("{:>14.6g}  {}\n", feature.weight, name));
    list.push_back({{"key", feature.key}, {"name", name}, {"weight", feature.weight}});
  }
  out.json({{"bias", *bias}, {"weights", list}});
  return ok_status();
}

}  // namespace

extern constinit const Command kModelWeightsCommand = {
    .path = "model weights",
    .summary = "Show the largest weights of a model, with the names that data gives them",
    .example = "thalweg model weights runs/ctr --names train.csv --column site",
    .run = run_model_weights,
    .options = {kReadOptions},
    .own = kWeightsOptions,
    .arguments = "DIR",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
