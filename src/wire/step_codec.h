// A step as messages, entries and states have it: epoch:u32 index:u32, little-endian.
#pragma once

#include "base/bytes.h"
#include "thalweg/ids.h"

namespace thalweg {

inline void put_step(Writer& out, Step step) { out.put(step.epoch).put(step.index); }
inline Step get_step(Reader& in) {
  const auto epoch = in.get<std::uint32_t>();
  return {epoch, in.get<std::uint32_t>()};
}

}  // namespace thalweg
