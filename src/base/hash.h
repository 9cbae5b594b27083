// The hash of frames and of text, with the widest vectors that this machine has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thalweg {

// XXH3-64, the same value on every machine.
std::uint64_t hash64(const void* data, std::size_t bytes);

}  // namespace thalweg
