// The weights of a stored model, a feature each.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/format/model_dir.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

// Which table has them. kUsage for a model that has no weight a feature.
Result<std::size_t> weights_table(const ModelReader& model);
Result<float> bias_of(const ModelReader& model);

struct Feature {
  Key key;
  float weight;
  double rank;  // By which they are chosen.
  std::string name{};
};

// The features of the highest ranks, of any number of them.
class TopFeatures {
 public:
  explicit TopFeatures(std::size_t most) : most_(most) {}
  // Whether add() would keep it; a key that it has is not kept again.
  bool wants(Key key, double rank) const;
  void add(Feature feature);
  std::vector<Feature> take();  // The highest first, of equal ranks the lower key.

 private:
  std::size_t most_;
  std::map<std::pair<double, Key>, Feature> features_;  // By -rank.
};

// The `most` largest either way.
Result<std::vector<Feature>> largest_weights(const ModelReader& model, std::size_t most);

}  // namespace thalweg
