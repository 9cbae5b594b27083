// The streams among the ranks of one simulated group: bytes that take their time, and links that end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "node/fabric.h"
#include "thalweg/status.h"

namespace thalweg::sim {

// What carries the bytes: puts them at the other end later, in order, or not at all.
class GroupCarrier {
 public:
  virtual ~GroupCarrier() = default;
  virtual void carry(std::uint32_t from, thalweg::Link to, std::vector<std::byte> bytes) = 0;
  virtual void made_room(std::uint32_t by, thalweg::Link from) = 0;
};

// One rank's.
class GroupStreams final : public Fabric {
 public:
  // `room`: bytes of one link, under way or unread.
  GroupStreams(GroupCarrier& carrier, std::uint32_t rank, std::uint32_t ranks, std::size_t room)
      : carrier_(carrier), rank_(rank), room_(room), lost_(ranks) {}

  std::size_t write(thalweg::Link to, std::span<const Piece> pieces) override;
  Piece peek(thalweg::Link from, std::size_t want) override;
  void consume(thalweg::Link from, std::size_t bytes) override;
  std::size_t read(thalweg::Link from, std::byte* into, std::size_t size) override;

  void arrive(thalweg::Link from, const std::vector<std::byte>& bytes);
  void freed(thalweg::Link to, std::size_t bytes) { used_[{to.peer, to.channel}] -= bytes; }
  void lose(std::uint32_t peer, Status why);
  const Status& status(std::uint32_t peer) const { return lost_[peer]; }
  bool any_lost() const { return any_lost_; }
  std::size_t take_freed(thalweg::Link from) {
    return std::exchange(in_[{from.peer, from.channel}].freed, 0);
  }

 private:
  struct Incoming {
    std::vector<std::byte> bytes;
    std::size_t begin = 0;
    std::size_t freed = 0;  // That the sender has yet to learn of.
  };
  using Key = std::pair<std::uint32_t, std::uint16_t>;
  GroupCarrier& carrier_;
  const std::uint32_t rank_;
  const std::size_t room_;
  std::map<Key, std::size_t> used_;
  std::map<Key, Incoming> in_;
  std::vector<Status> lost_;
  bool any_lost_ = false;
};

}  // namespace thalweg::sim
