// A fabric in memory for tests: takes and shows random parts, so that every way to be interrupted comes up.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "exchange/exchange.h"
#include "node/fabric.h"

namespace thalweg {

class LoopNetwork {
 public:
  // `room`: bytes that a link holds; with `chaos` it takes and shows random parts of what it could.
  LoopNetwork(std::uint64_t seed, std::size_t room, bool chaos) : random_(seed), room_(room), chaos_(chaos) {}

  struct Stream {
    std::vector<std::byte> bytes;
    std::size_t begin = 0;
  };
  Stream& stream(std::uint32_t from, std::uint32_t to, std::uint16_t channel) {
    return streams_[{from, to, channel}];
  }
  std::size_t some(std::size_t most) {
    return chaos_ && most > 0 ? static_cast<std::size_t>(random_.below(most + 1)) : most;
  }
  std::size_t room(const Stream& stream) const {
    return room_ - std::min(room_, stream.bytes.size() - stream.begin);
  }
  bool all_read() const {
    return std::all_of(streams_.begin(), streams_.end(),
                       [](const auto& entry) { return entry.second.begin == entry.second.bytes.size(); });
  }
  Random& random() { return random_; }
  bool shares_memory = false;
  // Else whether ranks have staging areas, and whether they fetch from each other as well.
  bool stages = false, fetches = false;
  bool borrowed = false;  // Staging areas are others' when an operation has ended.
  // Looks at memory that came too late: of a rank that was not in the operation any more.
  std::uint64_t fetched_outside = 0;
  const std::vector<std::unique_ptr<Exchange>>* running = nullptr;
  std::uint64_t fetches_done = 0, fetches_max = ~std::uint64_t{0};  // What is beyond fails.
  bool blind = false;                                               // Nobody sees what others share.
  std::byte* staging(std::uint32_t rank) {
    if (!stages) return nullptr;
    auto& area = staging_[rank];
    if (area.empty()) area.resize(Fabric::kStagingTurns * Fabric::kStagingBytes);
    return area.data();
  }
  std::uint64_t moved = 0;  // Bytes taken and given so far.

 private:
  Random random_;
  std::size_t room_;
  bool chaos_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>, Stream> streams_;
  std::map<std::uint32_t, std::vector<std::byte>> staging_;  // By rank.
};

class LoopFabric final : public Fabric {
 public:
  LoopFabric(LoopNetwork& network, std::uint32_t rank) : network_(network), rank_(rank) {}

  std::size_t write(Link to, std::span<const Piece> pieces) override {
    auto& stream = network_.stream(rank_, to.peer, to.channel);
    std::size_t total = 0;
    for (const Piece& piece : pieces) {
      const std::size_t taken = network_.some(std::min(piece.size, network_.room(stream)));
      stream.bytes.insert(stream.bytes.end(), piece.data, piece.data + taken);
      total += taken;
      network_.moved += taken;
      if (taken < piece.size) break;
    }
    return total;
  }
  Piece peek(Link from, std::size_t want) override {
    const auto& stream = network_.stream(from.peer, rank_, from.channel);
    return {stream.bytes.data() + stream.begin, std::min(want, stream.bytes.size() - stream.begin)};
  }
  void consume(Link from, std::size_t bytes) override {
    auto& stream = network_.stream(from.peer, rank_, from.channel);
    stream.begin += bytes;
    network_.moved += bytes;
    if (stream.begin == stream.bytes.size()) stream = {};
  }
  std::size_t read(Link from, std::byte* into, std::size_t size) override {
    const std::size_t got = network_.some(peek(from, size).size);
    if (got > 0) std::memcpy(into, peek(from, got).data, got);
    consume(from, got);
    return got;
  }
  // All ranks live in one process, so an address serves as an offset.
  std::uint64_t shared_offset(const void* data, std::size_t) override {
    const bool shared = network_.shares_memory || (data && data == network_.staging(rank_));
    return shared ? reinterpret_cast<std::uintptr_t>(data) : kNotShared;
  }
  bool borrows_channels() override { return network_.borrowed; }
  std::byte* shared_by(std::uint32_t peer, std::uint64_t offset, std::size_t) override {
    if (network_.borrowed && (*network_.running)[peer]->done()) ++network_.fetched_outside;
    return network_.blind ? nullptr : reinterpret_cast<std::byte*>(offset);
  }
  std::byte* staging(std::uint16_t) override { return network_.staging(rank_); }
  bool can_fetch(std::uint32_t) override { return network_.fetches; }
  bool fetch(std::uint32_t peer, std::uint64_t address, std::byte* into, std::size_t size) override {
    if (network_.running && (*network_.running)[peer]->done()) ++network_.fetched_outside;
    if (!network_.fetches || network_.fetches_done == network_.fetches_max) return false;
    ++network_.fetches_done;
    std::memcpy(into, reinterpret_cast<const std::byte*>(address), size);
    network_.moved += size;
    return true;
  }

 private:
  LoopNetwork& network_;
  std::uint32_t rank_;
};

// Advances all ranks, in random order with chaos, until all are done; false when none can go on, or all are
// done well and have left bytes unread, which would turn the end of a socket into a reset.
inline bool run_all(LoopNetwork& network, std::vector<std::unique_ptr<Exchange>>& ranks,
                    std::size_t idle_rounds_max = 200) {
  std::vector<LoopFabric> fabrics;
  network.running = &ranks;
  for (std::uint32_t r = 0; r < ranks.size(); ++r) fabrics.emplace_back(network, r);
  std::uint64_t last = 0;
  for (std::size_t idle = 0; idle < idle_rounds_max; ++idle) {
    std::size_t done = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto r = static_cast<std::size_t>(network.random().below(ranks.size()));
      ranks[r]->advance(fabrics[r]);
      done += ranks[i]->advance(fabrics[i]);
    }
    if (done == ranks.size()) {
      return network.all_read() ||
             std::any_of(ranks.begin(), ranks.end(), [](const auto& rank) { return !rank->status().ok(); });
    }
    if (network.moved != last) idle = 0;
    last = network.moved;
  }
  return false;
}

}  // namespace thalweg
