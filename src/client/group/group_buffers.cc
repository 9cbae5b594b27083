// Whether a call's buffers are there, and lie where an operation may have them.
#include <fmt/format.h>

#include "client/group/group_call.h"

namespace thalweg {
namespace {

struct Memory {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
  bool overlaps(const Memory& other) const {
    return begin && other.begin && bytes > 0 && other.bytes > 0 && begin < other.begin + other.bytes &&
           other.begin < begin + bytes;
  }
};

bool takes_part(Operation operation) {
  return operation == Operation::kAllGather || operation == Operation::kGather;
}
bool leaves_part(Operation operation) {
  return operation == Operation::kReduceScatter || operation == Operation::kScatter;
}

}  // namespace

Status check_buffers(const GroupCall& asked, const Call& call, std::uint32_t rank, bool serves) {
  if (serves && !asked.in && !asked.out) return ok_status();
  if (serves) {
    return wrong_call(asked,
                      fmt::format("rank {} is a server of its route, which contributes nothing and gets "
                                  "no result; expected null for `in` and `out`",
                                  rank));
  }
  if (asked.count == 0 && call.parts_out.empty()) return ok_status();
  const bool at_root = !has_root(asked.operation) || asked.root == rank;
  bool needs_in = asked.operation != Operation::kBarrier, needs_out = needs_in;
  switch (asked.operation) {
    case Operation::kReduce:
    case Operation::kGather:
      needs_out = at_root;
      break;
    case Operation::kBroadcast:
      needs_in = at_root;
      needs_out = !at_root;
      break;
    case Operation::kScatter:
      needs_in = at_root;
      break;
    case Operation::kPointToPoint:
      needs_in = at_root;
      needs_out = asked.peer == rank;
      break;
    case Operation::kNeighbours:
      needs_in = needs_out = !asked.neighbours.empty();
      break;
    default:
      break;
  }
  const bool own_part_is_empty =
      has_parts(asked.operation) && asked.operation != Operation::kAllToAll &&
      (call.parts.empty() ? rank >= asked.count : call.parts[rank] == call.parts[rank + 1]);
  if (asked.operation == Operation::kAllToAll) {
    needs_in = asked.count > 0;
    needs_out = call.parts_out.empty() || call.parts_out.back() > 0;
  }
  if (needs_in && !asked.in && !(takes_part(asked.operation) && own_part_is_empty))
    return wrong_call(asked, "`in` is null");
  if (needs_out && !asked.out && !(leaves_part(asked.operation) && own_part_is_empty))
    return wrong_call(asked, "`out` is null");
  return ok_status();
}

Status check_overlap(const GroupCall& asked, std::uint32_t rank, const Extents& extents) {
  if (asked.operation == Operation::kBarrier || asked.operation == Operation::kPointToPoint) return {};
  const bool from_root = asked.operation == Operation::kBroadcast || asked.operation == Operation::kScatter;
  if (from_root && asked.root != rank) return {};  // Its `in` is not looked at.
  const bool gathers = takes_part(asked.operation), scatters = leaves_part(asked.operation);
  const std::size_t element = extents.element_bytes, own = extents.own.begin * element;
  const Memory in{static_cast<const std::byte*>(asked.in),
                  (gathers ? extents.own.count : extents.in_count) * element};
  const Memory out{static_cast<const std::byte*>(asked.out),
                   (scatters ? extents.own.count : extents.out_count) * element};
  if (!in.overlaps(out)) return {};
  if (gathers && in.begin == out.begin + own) return {};
  if (scatters && out.begin == in.begin + own) return {};
  if (asked.operation == Operation::kNeighbours)
    return wrong_call(asked, "`in` and `out` overlap; expected none in common");
  if (!gathers && !scatters && in.begin == out.begin) return {};
  std::string expected = "the same memory";
  if (gathers) expected = fmt::format("in == out + {}, the rank's own part of `out`", extents.own.begin);
  if (scatters) expected = fmt::format("out == in + {}, the rank's own part of `in`", extents.own.begin);
  return wrong_call(
      asked, fmt::format("`in` and `out` overlap; expected {} (in place), or none in common", expected));
}

}  // namespace thalweg
