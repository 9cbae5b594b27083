// The streams between this process and one other, over one kind of transport. GroupFabric composes them.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/spin.h"
#include "node/fabric.h"
#include "thalweg/status.h"

namespace thalweg {

// write(), write_whole(), peek(), consume() and read() are Fabric's, and like it used by one thread at a
// time.
class PairStreams {
 public:
  virtual ~PairStreams() = default;
  virtual std::size_t write(std::uint16_t channel, std::span<const Piece> pieces) = 0;
  virtual bool write_whole(std::uint16_t /*channel*/, std::span<const Piece> /*pieces*/) { return false; }
  virtual Piece peek(std::uint16_t channel, std::size_t want) = 0;
  // As peek(), but looks again for as long as `spin` says and until it is `woken`, where looking is cheap.
  virtual Piece peek_soon(std::uint16_t channel, std::size_t want, const Spin& /*spin*/,
                          const std::atomic<bool>& /*woken*/) {
    return peek(channel, want);
  }
  virtual void consume(std::uint16_t channel, std::size_t bytes) = 0;
  // As LiveFabric's.
  virtual void give_up(std::uint16_t /*channel*/, std::uint64_t /*sequence*/) {}
  virtual bool has_given_up(std::uint16_t /*channel*/, std::uint64_t /*sequence*/) { return false; }
  virtual std::size_t read(std::uint16_t channel, std::byte* into, std::size_t size) = 0;

  // Whether a link may have changed since it came up short, or the peer was lost, each told once. Cheap
  // enough to spin on; false from streams that only poll() can tell.
  virtual bool take_change() { return false; }
  // Adds what poll() should watch for a link to change, and has the peer ring from now on. False when a link
  // has changed already, so that sleeping would miss it.
  virtual bool before_sleep(std::vector<pollfd>& watched) = 0;
  // Once after each before_sleep(), with its entries as poll() left them.
  virtual void after_sleep(std::span<const pollfd> watched) = 0;
  // OK, or how the peer was lost.
  virtual const Status& status() const = 0;

  // As Fabric's.
  virtual std::byte* shared_by(std::uint64_t /*offset*/, std::size_t /*size*/) { return nullptr; }
  virtual bool can_fetch() const { return false; }
  virtual bool fetch(std::uint64_t /*address*/, std::byte* /*into*/, std::size_t /*size*/) { return false; }
};

}  // namespace thalweg
