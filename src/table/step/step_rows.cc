#include "table/step/step_rows.h"

#include <algorithm>
#include <cstring>

#include "table/buffer.h"
#include "table/reduce.h"
#include "table/update_kernels.h"

namespace thalweg {
namespace {

// Adding to it changes no bit of anything, zeros of both signs included: it stands for what is absent.
constexpr float kNothing = -0.0f;

bool same_keys(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  if (a.size() != b.size()) return false;
  return a.data() == b.data() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

void StepRows::reset(const RangeSet& owned, std::uint16_t ranges) {
  numbers_.reset(owned, ranges);
  asked_.clear();
  numbers_of_all_.clear();
  rows_.clear();
  firsts_.clear();
  initials_.clear();
  initial_of_.clear();
}

std::span<const std::uint32_t> StepRows::numbers_of(const Asked& asked) const {
  return std::span(numbers_of_all_).subspan(asked.begin, asked.keys.keys.size());
}

std::span<const std::uint32_t> StepRows::ask(std::uint32_t position, const SharedKeys& keys) {
  asked_.push_back({position, keys, numbers_of_all_.size()});
  numbers_of_all_.resize(numbers_of_all_.size() + keys.keys.size());
  numbers_.add(keys.keys, numbers_of_all_.data() + asked_.back().begin);
  rows_.resize(numbers_.keys().size(), nullptr);
  return numbers_of(asked_.back());
}

bool StepRows::has(std::span<const PlacedKey> keys) const {
  return std::any_of(asked_.begin(), asked_.end(), [&](const Asked& asked) {
    return asked.keys.owner != nullptr && asked.keys.keys.data() == keys.data() &&
           asked.keys.keys.size() == keys.size();
  });
}

void StepRows::add_initial(std::size_t number, std::span<const float> row) {
  initial_of_.resize(number + 1);
  initial_of_[number] = static_cast<std::uint32_t>(initials_.size() / row.size());
  initials_.insert(initials_.end(), row.begin(), row.end());
}

bool StepRows::fits(std::span<const Contribution> parts) {
  if (parts.size() != asked_.size()) return false;
  asked_of_part_.clear();
  for (const Contribution& part : parts) {
    const auto shown = [&](const Asked& asked) {
      return asked.position == part.position && same_keys(asked.keys.keys, part.keys);
    };
    const auto found = std::find_if(asked_.begin(), asked_.end(), shown);
    if (found == asked_.end()) return false;
    // Parts are in order of positions, and those of one position have no key in common.
    if (std::find(asked_of_part_.begin(), asked_of_part_.end(), &*found) != asked_of_part_.end())
      return false;
    asked_of_part_.push_back(&*found);
  }
  return true;
}

// A stack of blocks, each a plane with a float for each number; the two on top are halves of one as soon as
// nothing is nearer.
std::span<const float> StepRows::sum_floats(std::span<const Contribution> parts) {
  const std::size_t size = keys().size();
  std::vector<std::uint32_t> blocks;
  const auto merge_last = [&] {
    blocks.pop_back();
    float* const left = planes_[blocks.size() - 1].data();
    kernels::add(left, planes_[blocks.size()].data(), left, size);
  };
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::uint32_t position = parts[p].position;
    const auto nearest_left = [&] { return block_distance(blocks[blocks.size() - 2], blocks.back()); };
    while (blocks.size() > 1 && nearest_left() <= block_distance(blocks.back(), position)) merge_last();
    // A right half that has no halves of its own is added at once.
    const bool at_once =
        !blocks.empty() && (p + 1 == parts.size() || block_distance(blocks.back(), position) <=
                                                         block_distance(position, parts[p + 1].position));
    if (!at_once) {
      if (planes_.size() == blocks.size()) planes_.emplace_back();
      planes_[blocks.size()].assign(size, kNothing);
      blocks.push_back(position);
    }
    const std::span<const std::uint32_t> numbers = numbers_of(*asked_of_part_[p]);
    const float* const grads = parts[p].grads.data();
    float* const plane = planes_[blocks.size() - 1].data();
    for (std::size_t i = 0; i < numbers.size(); ++i) plane[numbers[i]] += grads[i];
  }
  while (blocks.size() > 1) merge_last();
  return {planes_[0].data(), size};
}

// For each number the rows of the parts that have it, in order of positions.
void StepRows::deal_places(std::span<const Contribution> parts) {
  first_place_.assign(keys().size() + 1, 0);
  for (const std::uint32_t number : numbers_of_all_) ++first_place_[number + 1];
  for (std::size_t n = 1; n < first_place_.size(); ++n) first_place_[n] += first_place_[n - 1];
  places_.resize(numbers_of_all_.size());
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    const std::span<const std::uint32_t> numbers = numbers_of(*asked_of_part_[p]);
    for (std::uint32_t i = 0; i < numbers.size(); ++i) places_[first_place_[numbers[i]]++] = {p, i};
  }
  // Each is now where the next one begins.
  std::copy_backward(first_place_.begin(), first_place_.end() - 1, first_place_.end());
  first_place_[0] = 0;
}

std::vector<PlacedKey> StepRows::order() {
  std::vector<PlacedKey> ordered;
  numbers_.sort(ordered, ordered_numbers_);
  place_of_number_.resize(ordered.size());
  for (std::uint32_t i = 0; i < ordered.size(); ++i) place_of_number_[ordered_numbers_[i]] = i;
  return ordered;
}

std::size_t StepRows::bytes() const {
  std::size_t bytes = numbers_.bytes() + asked_.capacity() * sizeof(Asked) +
                      numbers_of_all_.capacity() * sizeof(std::uint32_t) + rows_.capacity() * sizeof(float*) +
                      (firsts_.capacity() + initials_.capacity()) * sizeof(float) +
                      initial_of_.capacity() * sizeof(std::uint32_t) +
                      first_place_.capacity() * sizeof(std::uint32_t) + places_.capacity() * sizeof(Place) +
                      (ordered_numbers_.capacity() + place_of_number_.capacity()) * sizeof(std::uint32_t);
  for (const std::vector<float>& plane : planes_) bytes += plane.capacity() * sizeof(float);
  return bytes;
}

}  // namespace thalweg
