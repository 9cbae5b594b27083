// One operation on a topology in virtual time: the production exchange on every rank, over a simulated
// network.
#pragma once

#include <cstdint>
#include <limits>
#include <memory_resource>
#include <string>
#include <vector>

#include "exchange/plan/cost.h"
#include "exchange/plan/layout.h"
#include "topology/network/sharing.h"

namespace thalweg {

// Beyond these, real payload is not simulated.
inline constexpr std::uint32_t kCheckedRanksMax = 256;
inline constexpr std::uint64_t kCheckedBytesMax = std::uint64_t{64}
                                                  << 20;  // Of all ranks; longer vectors shrink.

// One message on one link.
struct Passage {
  LinkIndex link = 0;
  std::uint32_t from = 0;  // Ranks.
  std::uint32_t to = 0;
  std::uint64_t bytes = 0;
  double begin = 0;  // Seconds.
  double end = 0;
};

struct SimulatedExchange {
  double seconds = 0;          // Until the last rank is done.
  bool given_up = false;       // After so many seconds some are not.
  std::uint64_t messages = 0;  // These two so far, where it was given up; what follows is missing then.
  std::uint64_t events = 0;
  std::uint64_t max_rank_bytes_sent = 0;
  std::vector<std::uint64_t> rank_bytes_sent;
  std::vector<std::uint64_t> link_bytes;
  LinkIndex busiest_link = 0;  // The one that carries for longest.
  double busiest_seconds = 0;
  bool checked = false;           // Real integers went the same way, and each rank's result was exact.
  std::vector<Passage> passages;  // When recorded.
};

struct SimulateOptions {
  bool check = false;
  bool record = false;
  double give_up_after = std::numeric_limits<double>::infinity();  // Seconds of virtual time.
  Handling handling{};  // What ranks' processors take, but for fetching: that is of formulas alone.
  Sharing sharing = Sharing::kFifo;
  std::pmr::memory_resource* memory = nullptr;  // For the ranks' steps, of this thread alone; null: any.
};

// The time is one of phantom payload. kRefused when an exchange fails or a checked result is wrong.
Result<SimulatedExchange> simulate_exchange(const Topology& topology, const Demand& demand,
                                            const Layout& layout, SimulateOptions options = {});

}  // namespace thalweg
