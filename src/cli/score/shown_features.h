// Features of a model as commands show them: by name, and by class where there are several.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/score/linear_weights.h"
#include "model/format/manifest.h"
#include "thalweg/status.h"

namespace thalweg {

// Gives those without a name the one that files have for their key.
Status name_features(const Manifest& manifest, const Options& options, const std::vector<std::string>& files,
                     std::vector<Feature>& features);

class ShownFeatures {
 public:
  explicit ShownFeatures(const Manifest& manifest) : classes_(!is_of_score(manifest.model.loss)) {}

  bool classes() const { return classes_; }
  // What a line ends in, behind its numbers.
  std::string title() const;
  std::string line_end(std::uint32_t of_class, const std::string& name) const;
  std::string line_end(const Feature& feature) const { return line_end(feature.of_class, name_of(feature)); }
  // What an object of --json begins with.
  nlohmann::ordered_json object(const Feature& feature) const;

 private:
  static std::string name_of(const Feature& feature);

  bool classes_;
};

}  // namespace thalweg
