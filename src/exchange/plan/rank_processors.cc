#include "exchange/plan/rank_processors.h"

namespace thalweg {
namespace {

Picoseconds whole_picoseconds(double seconds) { return static_cast<Picoseconds>(seconds * 1e12 + 0.5); }

}  // namespace

RankProcessors::RankProcessors(std::uint32_t ranks, const Handling& handling)
    : message_(whole_picoseconds(handling.message_seconds)),
      far_message_(whole_picoseconds(handling.far_message_seconds)),
      add_(handling.add_seconds_per_byte * 1e12),
      free_(ranks) {}

}  // namespace thalweg
