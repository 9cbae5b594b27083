// What shards of one step have been shown of a table, until the table changes: their keys, numbered once over
// all of them, and where each row lies. Pushes of the very keys that were shown are then added up by number,
// by the tree of reduce.h, and applied with nothing looked up again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "table/step/key_numbers.h"
#include "table/table.h"

namespace thalweg {

class StepRows {
 public:
  // What comes next is of keys of `owned`.
  void reset(const RangeSet& owned, std::uint16_t ranges);
  bool empty() const { return asked_.empty(); }
  // What has been shown is shown no more; reset() comes before more is asked.
  void forget() { asked_.clear(); }
  // The number of each key, valid until the next call; rows() grows by as many as are new, which are null.
  std::span<const std::uint32_t> ask(std::uint32_t position, const SharedKeys& keys);

  // By number:
  std::span<const PlacedKey> keys() const { return numbers_.keys(); }
  std::vector<float*>& rows() { return rows_; }     // Null: there is none in the table.
  std::vector<float>& firsts() { return firsts_; }  // Of rows of one float, their float.

  // Whether each part is what one of the positions was shown, and each that was shown is a part.
  bool fits(std::span<const Contribution> parts);
  // Precondition of both: fits(parts), which has been called last. Of one float a key: all sums, by number,
  // valid until the next call.
  std::span<const float> sum_floats(std::span<const Contribution> parts);
  // Of `dim` floats: calls use(number, sum) for each key, in order of numbers.
  using UseSum = std::function<void(std::size_t number, const float* sum)>;
  void sum_rows(std::span<const Contribution> parts, std::size_t dim, const UseSum& use);

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
  std::vector<const Asked*> asked_of_part_;
  std::vector<std::vector<float>> planes_;
  std::vector<std::uint32_t> first_place_;  // By number, and one more.
  std::vector<Place> places_;
};

}  // namespace thalweg
