// What is asked, and answered, about a server that is to leave, see include/thalweg/drain.h.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "thalweg/drain.h"

namespace thalweg::wire {

// Anybody to the scheduler. Who asks again, by the same name and number, is told how far the server is.
struct Drain {
  std::uint32_t server = 0;
};

Bytes encode(const Drain& message);
Bytes encode(const ServerDrain& message);
// Empty when the bytes are not exactly one such message within its limits.
std::optional<Drain> decode_drain(const Bytes& bytes);
std::optional<ServerDrain> decode_server_drain(const Bytes& bytes);

}  // namespace thalweg::wire
