// The lanes of every operation and route; each route's own file says its steps, bytes and time.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/lane.h"
#include "exchange/plan.h"
#include "exchange/team.h"

namespace thalweg {

// What a lane is to do: an operation on `whole`, whose parts begin at `parts` (or are nearly equal).
struct Work {
  Operation operation{};
  Block whole{};
  const std::uint64_t* parts = nullptr;      // Team size + 1 begins; null: nearly equal.
  const std::uint64_t* parts_out = nullptr;  // All-to-all: of kWork.
  std::uint64_t piece = 0;                   // Elements; 0: whole blocks.
  std::uint32_t root = 0;                    // Member of the team.
  std::uint32_t peer = 0;                    // Point to point: who receives.
  Buffer in = Buffer::kIn;                   // Where the team's contributions are.

  Block part(std::uint32_t members, std::uint32_t index) const {
    return parts ? Block{parts[index], parts[index + 1] - parts[index]} : part_of(whole, members, index);
  }
};

// All lanes of one rank. Precondition: check_plan() is OK. `plan` outlives them.
std::vector<Lane> make_lanes(const Work& work, const Plan& plan, std::uint32_t rank, std::uint32_t ranks);

// Whether a rank's kWork holds its own part and nothing else.
bool touches_own_part_only(Operation operation, Route route);

// One lane of one route among one team; `work.operation` is one that the route supports.
Lane ring_lane(Team team, Work work);

}  // namespace thalweg
