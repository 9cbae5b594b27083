// Through whom workers send their pushes: a forest over the workers of a map. Its roots send to servers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "wire/messages.h"

namespace thalweg::cluster {

class CombineTree {
 public:
  CombineTree() = default;
  // By machine: the lowest worker of each leads the others. Tree of arity k: the parent of the i-th worker is
  // the (i - 1) / k-th.
  explicit CombineTree(const wire::Map& map);

  // Empty for a root and for a worker that the map does not have.
  std::optional<std::uint32_t> parent(std::uint32_t worker) const;
  // Whether pushes of a shard of `owner` may come from `sender`, being on their way to a server.
  bool passes(std::uint32_t owner, std::uint32_t sender) const;
  // All workers, each with those below it right behind, so that neighbours combine first.
  std::vector<std::uint32_t> in_order() const;

 private:
  std::map<std::uint32_t, std::optional<std::uint32_t>> parents_;  // A parent is lower than its children.
};

}  // namespace thalweg::cluster
