// Any bytes as a machine room: a topology or an error, never a crash; what is a room stays one when written
// out.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "topology/packing.h"
#include "topology/render.h"
#include "topology/rings.h"
#include "topology/room_file.h"

namespace {

using namespace thalweg;  // NOLINT: a program of one file.

void check_paths(const Topology& room) {
  const std::uint32_t some = std::min(room.endpoint_count(), 12u);
  std::vector<LinkIndex> path;
  for (std::uint32_t from = 0; from < some; ++from) {
    for (std::uint32_t to = 0; to < some; ++to) {
      room.path(from, to, path);
      NodeIndex at = room.endpoint_node(from);
      for (const LinkIndex link : path) {
        THALWEG_CHECK(room.link(link).from == at, "links follow each other");
        at = room.link(link).to;
      }
      THALWEG_CHECK(at == room.endpoint_node(to), "a path leads to its end");
    }
  }
}

void check_packings(const Topology& room) {
  const std::vector<CapacityEdge> edges = direct_edges(room);
  if (room.rank_count() > 8) return;
  const auto trees = pack_trees(room.rank_count(), edges);
  if (trees) THALWEG_CHECK(trees->rate > 0, "trees carry something");
  const auto rings = find_rings(room.rank_count(), edges);
  if (rings) THALWEG_CHECK(trees.ok(), "where there is a ring there is a tree");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto room = parse_room({reinterpret_cast<const char*>(data), size}, "room.toml");  // NOLINT
  if (!room) return 0;
  check_paths(*room);
  check_packings(*room);
  if (room->node_count() > 1000) return 0;
  const auto again = parse_room(to_toml(room->room()), "again.toml");
  THALWEG_CHECK(again.ok(), "a room that was written can be read");
  THALWEG_CHECK(again->link_count() == room->link_count(), "with all its links");
  return 0;
}
