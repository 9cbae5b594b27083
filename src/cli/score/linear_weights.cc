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
  const bool one = is_of_score(model.manifest().model.loss);  // Or one for each class.
  if (found != tables.end() && (!one || found->spec.dim == 1))
    return static_cast<std::size_t>(found - tables.begin());
  return Status(Code::kUsage, fmt::format("{}: model {} has no weight a feature", model.path(),
                                          model.manifest().model.name));
}

}  // namespace

Result<std::size_t> weights_table(const ModelReader& model) {
  return table_named(model, "weights", TableSpec::Kind::kSparse);
}

Result<std::vector<float>> biases_of(const ModelReader& model) {
  const Result<std::size_t> table = table_named(model, "bias", TableSpec::Kind::kDense);
  if (!table) return table.status();
  std::vector<float> biases(model.manifest().tables[*table].spec.dim);
  const Status status = model.scan(*table, false, [&](const StoredRows& rows) {
    if (rows.rows.size() >= biases.size()) std::copy_n(rows.rows.begin(), biases.size(), biases.begin());
    return ok_status();
  });
  if (!status.ok()) return as_model(status);
  return biases;
}

bool TopFeatures::wants(Key key, double rank, std::uint32_t of_class) const {
  const Place place(-rank, key, of_class);
  if (features_.contains(place)) return false;
  return features_.size() < most_ || place < features_.rbegin()->first;
}

void TopFeatures::add(Feature feature) {
  if (!wants(feature.key, feature.rank, feature.of_class)) return;
  features_.emplace(Place(-feature.rank, feature.key, feature.of_class), std::move(feature));
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
  const std::uint32_t dim = model.manifest().tables[*table].spec.dim;
  const Status status = model.scan(*table, false, [&](const StoredRows& rows) {
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      for (std::uint32_t c = 0; c < dim; ++c) {
        const float weight = rows.rows[i * dim + c];
        const double size = std::abs(static_cast<double>(weight));
        if (top.wants(rows.keys[i], size, c)) top.add({rows.keys[i], weight, size, {}, c});
      }
    }
    return ok_status();
  });
  if (!status.ok()) return as_model(status);
  return top.take();
}

}  // namespace thalweg
