#include "cli/score/linear_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/work/stored_model.h"

namespace thalweg {
namespace {

Result<std::size_t> table_named(const ModelReader& model, const char* name, TableSpec::Kind kind) {
  const std::vector<TableManifest>& tables = model.manifest().tables;
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const TableManifest& table) {
    return table.spec.name == name && table.spec.kind == kind;
  });
  if (found != tables.end() && found->spec.dim == 1) return static_cast<std::size_t>(found - tables.begin());
  if (found != tables.end() && !is_of_score(model.manifest().model.loss)) {
    return Status(Code::kUsage,
                  fmt::format("{}: model {} has {} weights a feature, one for each class; expected one of a "
                              "single score",
                              model.path(), model.manifest().model.name, found->spec.dim));
  }
  return Status(Code::kUsage, fmt::format("{}: model {} has no weight a feature", model.path(),
                                          model.manifest().model.name));
}

}  // namespace

Result<std::size_t> weights_table(const ModelReader& model) {
  return table_named(model, "weights", TableSpec::Kind::kSparse);
}

Result<float> bias_of(const ModelReader& model) {
  const Result<std::size_t> table = table_named(model, "bias", TableSpec::Kind::kDense);
  if (!table) return table.status();
  float bias = 0;
  const Status status = model.scan(*table, false, [&](const StoredRows& rows) {
    if (!rows.rows.empty()) bias = rows.rows.front();
    return ok_status();
  });
  if (!status.ok()) return as_model(status);
  return bias;
}

bool TopFeatures::wants(Key key, double rank) const {
  const std::pair place(-rank, key);
  if (features_.contains(place)) return false;
  return features_.size() < most_ || place < features_.rbegin()->first;
}

void TopFeatures::add(Feature feature) {
  if (!wants(feature.key, feature.rank)) return;
  features_.emplace(std::pair(-feature.rank, feature.key), std::move(feature));
  if (features_.size() > most_) features_.erase(std::prev(features_.end()));
}

std::vector<Feature> TopFeatures::take() {
  std::vector<Feature> all;
  for (auto& [place, feature] : features_) all.push_back(std::move(feature));
  features_.clear();
  return all;
}

Result<std::vector<Feature>> largest_weights(const ModelReader& model, std::size_t most) {
  const Result<std::size_t> table = weights_table(model);
  if (!table) return table.status();
  TopFeatures top(most);
  const Status status = model.scan(*table, false, [&](const StoredRows& rows) {
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      const double size = std::abs(static_cast<double>(rows.rows[i]));
      if (top.wants(rows.keys[i], size)) top.add({rows.keys[i], rows.rows[i], size});
    }
    return ok_status();
  });
  if (!status.ok()) return as_model(status);
  return top.take();
}

}  // namespace thalweg
