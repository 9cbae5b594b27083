// Whether rows are sorted by their labels, or by what these follow.
#pragma once

#include <cstdint>
#include <span>

namespace thalweg {

// How the mean label differs between equal parts of the rows, in their order.
struct LabelSpread {
  std::uint64_t rows = 0;  // Looked at; 0: none.
  std::uint32_t parts = 0;
  double least = 0, most = 0;  // Of the parts' means.
  // Of the labels' variance what is between parts and not within them, 0 to 1: the intraclass correlation.
  double between = 0;
  double mean = 0, deviation = 0;  // Of all labels.
  double sigmas = 0;               // By how many standard deviations the spread is more than chance gives.

  // More than chance, and so much that the order costs accuracy: not the slow drift of a log.
  bool is_sorted() const { return sigmas > 5 && between > 0.05; }
};
LabelSpread label_spread(std::span<const float> labels);

}  // namespace thalweg
