// A job of several machines, as tests of what nodes know of one need it.
#pragma once

#include "wire/messages.h"

namespace thalweg::cluster {

// Workers 0, 1, 4 on one machine, 2 and 7 on another; shard i is owned by the i-th of them.
inline wire::Map map_for_test(Combining combine) {
  wire::Map map;
  map.epoch = 3;
  map.combine = combine;
  map.workers = {{0, 0, ""}, {1, 0, ""}, {2, 1, ""}, {4, 0, ""}, {7, 1, ""}};
  map.shards = {{0, 0}, {1, 0}, {2, 0}, {4, 5}, {7, 0}};
  return map;
}

}  // namespace thalweg::cluster
