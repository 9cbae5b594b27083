// The weights of a stored model, a feature each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/format/model_dir.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

// Which table has them. kUsage for a model that has no weight a feature.
Result<std::size_t> weights_table(const ModelReader& model);
// Of each class; of a single score one.
Result<std::vector<float>> biases_of(const ModelReader& model);

struct Feature {
  Key key;
  float weight;
  double rank;  // By which they are chosen.
  std::string name{};
  std::uint32_t of_class = 0;  // Of models of classes.
};

// The features of the highest ranks, of any number of them.
class TopFeatures {
 public:
  explicit TopFeatures(std::size_t most) : most_(most) {}
  // Whether add() would keep it; a key that it has of the class is not kept again.
  bool wants(Key key, double rank, std::uint32_t of_class = 0) const;
  void add(Feature feature);
  std::vector<Feature> take();  // The highest first, of equal ranks the lower key.

 private:
  std::size_t most_;
  using Place = std::tuple<double, Key, std::uint32_t>;  // By -rank.
  std::map<Place, Feature> features_;
};

// The `most` largest either way.
Result<std::vector<Feature>> largest_weights(const ModelReader& model, std::size_t most);

}  // namespace thalweg
