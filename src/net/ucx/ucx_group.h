// A rank's streams to all others over UCX (https://openucx.org), which picks the network: InfiniBand, RoCE,
// shared memory or TCP. Present where the build found UCX's headers; the library is looked for when asked
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "net/pair_streams.h"
#include "thalweg/status.h"

namespace thalweg {

class UcxGroup {
 public:
  // OK, or what to install: kUsage.
  static Status available();
  // `loopback`: no other machine shall reach this rank.
  static Result<std::unique_ptr<UcxGroup>> open(std::uint32_t rank, std::uint32_t ranks, bool loopback);
  virtual ~UcxGroup() = default;  // Before its streams.

  // What other ranks need to connect with this one.
  virtual Result<std::vector<std::byte>> address() const = 0;
  static constexpr std::uint32_t kAddressBytesMax = 16 << 10;
  // `name` names the peer in errors; `local`: it runs on this machine.
  virtual Result<std::unique_ptr<PairStreams>> connect(std::uint32_t peer, std::string name, bool local,
                                                       std::span<const std::byte> address) = 0;
  // Returns when bytes go both ways between this rank and all others.
  virtual Status greet(Instant deadline) = 0;
  // Until what was written has gone to those peers that are not gone; then tells them that no more will come.
  virtual void leave(Instant deadline, const std::function<bool(std::uint32_t peer)>& is_gone) = 0;
};

}  // namespace thalweg
