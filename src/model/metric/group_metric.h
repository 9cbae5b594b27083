// A metric of groups of rows, such as a query's or a user's, within which scores are compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace thalweg {

struct GroupRow {
  std::uint64_t group;  // A hash of its name.
  float score;
  float label;
  float weight;
};

// One a file in this folder.
struct GroupMetric {
  std::string_view name;     // Lower case, as a field of --json.
  std::string_view summary;  // A few words.
  bool at_k = false;         // Only the first k rows of a group count.
  bool by_weight = false;    // Groups count by the weight of their rows; else all alike.
  // Of one group's rows, by descending score. NaN: it means nothing for them, and the group is left out.
  double (*of)(std::span<const GroupRow> rows, std::size_t k) = nullptr;
};

std::vector<const GroupMetric*> group_metrics();

// The end of the rows from `begin` on whose scores are equal.
std::size_t end_of_ties(std::span<const GroupRow> rows, std::size_t begin);

}  // namespace thalweg
