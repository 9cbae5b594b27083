#include "staleness/reached.h"

#include <algorithm>

namespace thalweg {

void Reached::add(const Reached& other) {
  low = std::min(low, other.low);
  if (other.reach >= reach) ended = other.ended || (ended && other.reach == reach);
  reach = std::max(reach, other.reach);
}

}  // namespace thalweg
