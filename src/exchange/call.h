// An operation as its caller asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exchange/combine/combine.h"
#include "exchange/plan/plan.h"

namespace thalweg {

// Which way vectors in ordinary memory go between two ranks of one machine.
enum class CopyWay : std::uint8_t {
  kFetch,  // Out of each other's memory; staged where that cannot be read.
  kStage,  // Through memory that both see.
  kSend,   // By messages.
};

// Buffers stay the caller's and unchanged by others until the end.
struct Call {
  Operation operation{};
  Arithmetic arithmetic = Arithmetic::of(DataType::kF32, Reduction::kSum);
  std::uint64_t count = 0;  // Elements of the whole vector; all-to-all: of what this rank contributes.
  std::uint32_t root = 0;
  std::uint32_t peer = 0;         // Point to point: who receives.
  const std::byte* in = nullptr;  // May be null where the rank contributes nothing, or in a phantom call.
  std::byte* out = nullptr;       // May be `in` (of all-gather and the like: in's place within it).
  // Where each rank's part begins, and the end: ranks + 1 numbers. Empty: nearly equal parts.
  std::vector<std::uint64_t> parts;
  std::vector<std::uint64_t> parts_out;   // All-to-all: the same of what this rank receives.
  std::vector<std::uint32_t> neighbours;  // Of a neighbour exchange: in the order of their vectors in `out`.
  bool phantom = false;                   // Sizes only: nothing is read, written or checked.
  bool sent = false;                      // What this rank has to send, in one message, is on its way.
  CopyWay copies = CopyWay::kFetch;       // What rank 0 of two says holds.
};

}  // namespace thalweg
