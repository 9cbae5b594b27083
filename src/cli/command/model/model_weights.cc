// model weights: the largest weights, by name.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command/command.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/score/feature_names.h"
#include "cli/score/linear_weights.h"
#include "cli/score/remembered_names.h"
#include "cli/score/shown_features.h"
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
     .help = "Only features of this column, by --names or remembered ones",
     .example = "site",
     .placeholder = "NAME"},
};

using NamesByKey = std::unordered_map<Key, std::string>;

// The columns that names of features are of, "site=a.com", and whether the wanted one is among them.
class ColumnsSeen {
 public:
  explicit ColumnsSeen(std::string wanted) : wanted_(std::move(wanted)) {}

  bool is_wanted(const std::string& name) {
    const bool is =
        name.starts_with(wanted_) && (name.size() == wanted_.size() || name[wanted_.size()] == '=');
    found_ = found_ || is;
    if (!found_ && others_.size() <= kShown) others_.insert(name.substr(0, name.find('=')));
    return is;
  }

  Status check() const {
    if (found_) return ok_status();
    std::string list;
    std::size_t shown = 0;
    for (const std::string& name : others_) {
      if (shown++ < kShown) list += (list.empty() ? "" : ", ") + name;
    }
    return {Code::kUsage, fmt::format("--column {}: no feature is of such a column; there are {}{}", wanted_,
                                      list.empty() ? "none" : list, shown > kShown ? ", ..." : "")};
  }

 private:
  static constexpr std::size_t kShown = 20;
  const std::string wanted_;
  bool found_ = false;
  std::set<std::string> others_;
};

void add_feature(const FrozenTable& weights, Key key, const std::string& name, TopFeatures& top) {
  const PlacedKey placed = place(key);
  std::vector<float> row(weights.dim());
  if (weights.read({&placed, 1}, row) == 0) return;
  for (std::uint32_t c = 0; c < row.size(); ++c) {
    const double size = std::abs(static_cast<double>(row[c]));
    if (top.wants(key, size, c)) top.add({key, row[c], size, name, c});
  }
}

// Of features that the data has.
Status add_column(const ModelReader& model, const FrozenTable& weights, const Options& options,
                  ColumnsSeen& columns, TopFeatures& top) {
  std::vector<std::string> names;
  return read_features(model.manifest(), options, options.texts("names"), [&](const InputBatch& batch) {
    for (std::size_t row = 0; row < batch.rows.rows(); ++row) {
      name_entries(batch.data, batch.rows, batch.lines, row, names);
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (!columns.is_wanted(names[i])) continue;
        add_feature(weights, batch.rows.keys[batch.rows.row_begin[row] + i], names[i], top);
      }
    }
    return true;
  });
}

Result<std::vector<Feature>> features_of_column(const ModelReader& model, const Options& options,
                                                const NamesByKey& remembered) {
  const Result<std::size_t> table = weights_table(model);
  if (!table) return table.status();
  const Result<FrozenTable> weights = FrozenTable::load(model, *table);
  if (!weights) return as_model(weights.status());
  TopFeatures top(static_cast<std::size_t>(options.integer("top")));
  ColumnsSeen columns(options.text("column"));
  if (options.has("names")) {
    Status status = add_column(model, *weights, options, columns, top);
    if (status.ok()) status = columns.check();
    if (!status.ok()) return status;
    return top.take();
  }
  if (remembered.empty()) {
    return Status(
        Code::kUsage,
        "--column needs --names FILE, data that has the column, or a model of train --remember-names");
  }
  for (const auto& [key, name] : remembered) {
    if (columns.is_wanted(name)) add_feature(*weights, key, name, top);
  }
  if (Status status = columns.check(); !status.ok()) return status;
  return top.take();
}

Result<std::vector<Feature>> wanted_features(const ModelReader& model, const Options& options) {
  const Result<NamesByKey> remembered = remembered_names(model);
  if (!remembered) return remembered.status();
  if (options.has("column")) return features_of_column(model, options, *remembered);
  Result<std::vector<Feature>> features =
      largest_weights(model, static_cast<std::size_t>(options.integer("top")));
  if (!features) return features;
  for (Feature& feature : *features) {
    if (const auto found = remembered->find(feature.key); found != remembered->end())
      feature.name = found->second;
  }
  if (!options.has("names")) return features;
  if (Status status = name_features(model.manifest(), options, options.texts("names"), *features);
      !status.ok())
    return status;
  return features;
}

Status run_model_weights(const Options& options, Output& out) {
  const Result<ModelReader> model = open_model(options.arguments()[0]);
  if (!model) return model.status();
  const Result<std::vector<Feature>> features = wanted_features(*model, options);
  if (!features) return features.status();
  const Result<std::vector<float>> biases = biases_of(*model);
  if (!biases) return biases.status();
  const ShownFeatures shown(model->manifest());
  const auto line = [&](float weight, const std::string& rest) {
    out.human(fmt::format("{:>14.6g}  {}\n", weight, rest));
  };
  out.human(fmt::format("{:>14}  {}\n", "weight", shown.title()));
  for (std::uint32_t c = 0; c < biases->size(); ++c) line((*biases)[c], shown.line_end(c, "bias"));
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Feature& feature : *features) {
    line(feature.weight, shown.line_end(feature));
    nlohmann::ordered_json one = shown.object(feature);
    one["weight"] = feature.weight;
    list.push_back(std::move(one));
  }
  nlohmann::ordered_json bias = biases->front();
  if (shown.classes()) bias = *biases;
  out.json({{"bias", bias}, {"weights", list}});
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
