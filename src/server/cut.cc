#include "server/cut.h"

namespace thalweg {

std::vector<Reached> reached_in(const std::vector<TableCut>& tables) {
  std::vector<Reached> all;
  for (const TableCut& table : tables) {
    for (const RangeState& state : table.states) {
      all.resize(state.marks.size());
      for (std::size_t shard = 0; shard < all.size(); ++shard) {
        Reached of = state.reached[shard];
        of.low = state.marks[shard].low();
        all[shard].add(of);
      }
    }
  }
  return all;
}

}  // namespace thalweg
