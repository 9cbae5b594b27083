#include "cli/score/shown_features.h"

#include <fmt/format.h>

#include <unordered_set>

#include "cli/score/feature_names.h"

namespace thalweg {

Status name_features(const Manifest& manifest, const Options& options, const std::vector<std::string>& files,
                     std::vector<Feature>& features) {
  std::unordered_set<Key> keys;
  for (const Feature& feature : features) {
    if (feature.name.empty()) keys.insert(feature.key);
  }
  const auto names = names_of_keys(manifest, options, files, std::move(keys));
  if (!names) return names.status();
  for (Feature& feature : features) {
    if (const auto found = names->find(feature.key); found != names->end()) feature.name = found->second;
  }
  return ok_status();
}

std::string ShownFeatures::title() const { return classes_ ? "  class  feature" : "feature"; }

std::string ShownFeatures::line_end(std::uint32_t of_class, const std::string& name) const {
  return classes_ ? fmt::format("{:>7}  {}", of_class, name) : name;
}

nlohmann::ordered_json ShownFeatures::object(const Feature& feature) const {
  nlohmann::ordered_json object = {{"key", feature.key}, {"name", name_of(feature)}};
  if (classes_) object["class"] = feature.of_class;
  return object;
}

std::string ShownFeatures::name_of(const Feature& feature) {
  return feature.name.empty() ? fmt::format("{}", feature.key) : feature.name;
}

}  // namespace thalweg
