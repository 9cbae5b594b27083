// What a caller asks of a group, checked and put as the exchange takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "exchange/block.h"
#include "exchange/exchange.h"
#include "thalweg/group.h"

namespace thalweg {

// No memory is as large, and as many vectors as there are ranks do not overflow.
inline constexpr std::size_t kVectorBytesMax = std::size_t{1} << 50;

// Into `made`, which is fresh. Errors: kUsage.
Status make_call(const GroupCall& asked, std::uint32_t rank, std::uint32_t ranks, Call& made);
// OK where there is one for each rank and they add up to the whole vector. Errors: kUsage.
Status check_counts(Operation operation, std::span<const std::size_t> counts, std::uint32_t ranks,
                    std::size_t whole);
// OK, or which buffer of a made call is missing. `serves`: the plan makes this rank a server, which must pass
// none.
Status check_buffers(const GroupCall& asked, const Call& made, std::uint32_t rank, bool serves);

// The same two of a call that several others do the work of, before any of these is made; whatever it adds
// up.
Status check_call(GroupCall asked, std::uint32_t rank, std::uint32_t ranks);

// Elements of a rank's buffers.
struct Extents {
  std::size_t element_bytes = 0;
  Block own{};  // The rank's part of the vector.
  std::size_t in_count = 0;
  std::size_t out_count = 0;
};
// OK where the buffers have nothing in common or are in place as group.h says. Errors: kUsage.
Status check_overlap(const GroupCall& asked, std::uint32_t rank, const Extents& extents);

// OK where each rank gets what `what` makes by the route. Errors: kUsage.
Status check_all_contribute(const char* what, const RouteChoice& route);

bool has_parts(Operation operation);
Status wrong_call(Operation operation, std::string why);
inline Status wrong_call(const GroupCall& asked, std::string why) {
  return wrong_call(asked.operation, std::move(why));
}

}  // namespace thalweg
