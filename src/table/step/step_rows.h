// What shards of one step have been shown of a table, until the table changes: their keys, numbered once over
// all of them, and where each row lies. Pushes of the very keys that were shown are then added up by number,
// by the tree of reduce.h, and applied with nothing looked up again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "table/reduce.h"
#include "table/step/key_numbers.h"
#include "table/table.h"

namespace thalweg {

class StepRows {
 public:
  // What comes next is of keys of `owned`.
  void reset(const RangeSet& owned, std::uint16_t ranges);
  bool empty() const { return asked_.empty(); }
  // Whether one of the positions has been shown keys that lie in this very memory.
  bool has(std::span<const PlacedKey> keys) const;
  // What has been shown is shown no more; reset() comes before more is asked.
  void forget() { asked_.clear(); }
  // The number of each key, valid until the next call; rows() grows by as many as are new, which are null.
  std::span<const std::uint32_t> ask(std::uint32_t position, const SharedKeys& keys);

  // By number:
  std::span<const PlacedKey> keys() const { return numbers_.keys(); }
  std::vector<float*>& rows() { return rows_; }     // Null: there is none in the table.
  std::vector<float>& firsts() { return firsts_; }  // Of rows of one float, their float.
  // What rows of `dim` floats begin with that the table has not, in order of numbers.
  std::span<const float> initial(std::size_t number, std::size_t dim) const {
    return std::span(initials_).subspan(initial_of_[number] * dim, dim);
  }
  // Precondition: of each number below this one that has no row it is known.
  void add_initial(std::size_t number, std::span<const float> row);
  std::vector<float> take_initials() { return std::exchange(initials_, {}); }

  // Whether each part is what one of the positions was shown, and each that was shown is a part.
  bool fits(std::span<const Contribution> parts);
  // Precondition of both: fits(parts), which has been called last. Of one float a key: all sums, by number,
  // valid until the next call.
  std::span<const float> sum_floats(std::span<const Contribution> parts);
  // Of `dim` floats: calls use(number, sum) for each key, in order of numbers.
  template <class Use>
  void sum_rows(std::span<const Contribution> parts, std::size_t dim, const Use& use);

  // All keys ascending.
  std::vector<PlacedKey> order();
  // By number, where in what order() returned last each key is.
  std::span<const std::uint32_t> places() const { return place_of_number_; }

  std::size_t bytes() const;

 private:
  struct Asked {
    std::uint32_t position = 0;
    SharedKeys keys;
    std::size_t begin = 0;  // In numbers_of_all_.
  };
  // A key's row in one of the parts.
  struct Place {
    std::uint32_t part = 0;
    std::uint32_t row = 0;
  };
  std::span<const std::uint32_t> numbers_of(const Asked& asked) const;
  void deal_places(std::span<const Contribution> parts);

  KeyNumbers numbers_;
  std::vector<Asked> asked_;
  std::vector<std::uint32_t> numbers_of_all_;
  std::vector<float*> rows_;
  std::vector<float> firsts_;
  std::vector<float> initials_;
  std::vector<std::uint32_t> initial_of_;  // By number, where there is no row.
  std::vector<const Asked*> asked_of_part_;
  std::vector<std::vector<float>> planes_;
  std::vector<std::uint32_t> first_place_;  // By number, and one more.
  std::vector<Place> places_;
  std::vector<std::uint32_t> ordered_numbers_;
  std::vector<std::uint32_t> place_of_number_;
};

template <class Use>
void StepRows::sum_rows(std::span<const Contribution> parts, std::size_t dim, const Use& use) {
  deal_places(parts);
  constexpr std::size_t kAhead = 16;  // Rows of parts that are on their way to the cache.
  std::vector<float> sums;
  struct Block {
    std::uint32_t position;
    const float* sum;
  };
  std::vector<Block> blocks;
  const auto row_of = [&](const Place& place) { return parts[place.part].grads.data() + place.row * dim; };
  const auto merge_last = [&] {
    float* const sum = sums.data() + (blocks.size() - 2) * dim;
    const float *const left = blocks[blocks.size() - 2].sum, *const right = blocks.back().sum;
    for (std::size_t c = 0; c < dim; ++c) sum[c] = left[c] + right[c];
    blocks.pop_back();
    blocks.back().sum = sum;
  };
  sums.resize(parts.size() * dim);
  for (std::size_t n = 0; n < keys().size(); ++n) {
    const std::uint32_t end = first_place_[n + 1];
    blocks.clear();
    for (std::uint32_t at = first_place_[n]; at < end; ++at) {
      if (at + kAhead < places_.size()) __builtin_prefetch(row_of(places_[at + kAhead]));
      const std::uint32_t position = parts[places_[at].part].position;
      while (blocks.size() > 1 &&
             block_distance(blocks[blocks.size() - 2].position, blocks.back().position) <=
                 block_distance(blocks.back().position, position)) {
        merge_last();
      }
      blocks.push_back({position, row_of(places_[at])});
    }
    while (blocks.size() > 1) merge_last();
    use(n, blocks[0].sum);
  }
}

}  // namespace thalweg
