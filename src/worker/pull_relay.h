// The part of a worker that has the rows of dense tables come down the tree by which pushes go up. It asks
// the worker above it, or a server, for rows newer than those that it has, once at a time for each piece of a
// table, keeps the newest alone, and shows them to its own shards and to the workers below, who ask it the
// same. So nobody gets rows faster than it takes them, and no shard waits but for the first ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/completion.h"
#include "cluster/membership.h"
#include "thalweg/store.h"

namespace thalweg {

class PullRelay {
 public:
  // A pull of one of this worker's shards.
  struct OwnPull {
    ShardId shard;
    TableId table;
    Keys keys;
    std::shared_ptr<Completion> completion;
  };
  struct Shown {
    Rows rows;
    std::uint32_t version = 0;  // As FrameHeader has it, of the oldest piece.
  };
  // What newer rows lead to.
  struct News {
    std::vector<std::pair<NodeId, Frame>> answers;  // To workers below.
    std::optional<Frame> ask;                       // For what is newer still.
  };

  // `member` outlives the relay.
  explicit PullRelay(const cluster::Membership& member) : member_(member) {}

  // Under a new map: what to ask for. Rows stay where they are asked for as before.
  std::vector<Frame> restart();
  // Whether pulls of this table are answered here.
  bool follows(TableId table) const { return table.value < pieces_.size() && !pieces_[table.value].empty(); }
  News on_rows(const FrameHeader& piece, Rows rows);

  // Whether another worker's ask is one to be answered here.
  Status check(NodeId from, const FrameHeader& head) const;
  // Precondition: it was found right. Its answer; none where it waits for newer rows.
  std::optional<Frame> on_ask(NodeId from, const FrameHeader& head);

  // Empty where rows of the table have yet to come. Precondition: follows(table).
  std::optional<Shown> show(TableId table, const Keys& keys) const;
  void hold(OwnPull pull) { held_.push_back(std::move(pull)); }
  // Those that can be shown what they ask for, which are forgotten; also those of a shard, and all.
  std::vector<OwnPull> take_ready();
  std::vector<OwnPull> take_of(ShardId shard);
  std::vector<OwnPull> stop();

 private:
  struct Piece {
    RangeSpan ranges;
    Bytes keys;
    Rows rows;
    std::uint32_t version = 0;                 // 0: none have come.
    std::map<NodeId, FrameHeader> below = {};  // Who asks for newer ones.
  };
  bool off() const;
  std::vector<Piece> cut(TableId table) const;
  // Null where there is none.
  template <class Tables>
  static auto* find(Tables& pieces, TableId table, RangeSpan ranges);
  static Frame ask_of(TableId table, const Piece& piece);
  static Frame answer(const FrameHeader& ask, const Piece& piece);
  template <class Wanted>
  std::vector<OwnPull> take_held(const Wanted& wanted);

  const cluster::Membership& member_;
  std::vector<std::vector<Piece>> pieces_;  // By table; none of sparse ones.
  std::vector<OwnPull> held_;
};

}  // namespace thalweg
