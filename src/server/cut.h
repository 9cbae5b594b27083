// All ranges that a server owns: in lockstep as they are at one step boundary, else each as it is at a moment
// of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/node.h"
#include "server/table_cut.h"
#include "thalweg/status.h"
#include "wire/messages.h"

namespace thalweg {

// What a server copies of its tables in one turn.
inline constexpr std::size_t kCutPieceBytes = std::size_t{4} << 20;

struct Cut {
  std::uint32_t server = 0;
  wire::CheckpointOrder order;
  std::vector<TableCut> tables;  // By table id.
};

// By shard, where it goes on and how far anything is known of it, over all ranges; nothing in lockstep.
std::vector<Reached> reached_in(const std::vector<TableCut>& tables);

// Where a cut is being stored. Used outside the server's turns, on any thread, by one at a time.
class CutSink {
 public:
  virtual ~CutSink() = default;
  // Rows of one range, behind those that came of it before.
  virtual Status add(TableId table, const LoadEntry& rows) = 0;
  // There are no more. Tells whoever completes the checkpoint what there is now.
  virtual Result<std::string> finish() = 0;
};

// Begins to store a cut, without entries, where its order says; the cut outlives what this returns.
using StoreCut = std::function<Result<std::unique_ptr<CutSink>>(const Cut& cut)>;
// Gathers all of a cut in memory, an entry for each range that has rows, and has it stored as a whole.
StoreCut store_whole(std::function<Result<std::string>(const Cut& cut)> store);

// A cut on its way to where it is stored. Its rows are put to it piece by piece, each when the one before has
// been stored, so that a server goes on with its other work meanwhile.
class CutWork final : public Computation {
 public:
  struct Piece {
    TableId table;
    LoadEntry rows;
  };

  explicit CutWork(StoreCut store) : store_(std::move(store)) {}

  void compute() override;

  bool possible() const { return store_ != nullptr; }
  bool busy() const { return cut_.has_value(); }  // From begin() to finish().
  bool waits() const { return ready_; }           // For a driver to take it.
  // Precondition: possible(), and not busy().
  void begin(Cut cut) { cut_ = std::move(cut); }
  // Precondition: busy(), not done(), and what was put before has been computed.
  void put(std::vector<Piece> pieces, bool last) {
    pieces_ = std::move(pieces);
    last_ = last;
    ready_ = true;
  }
  Computation* take() { return std::exchange(ready_, false) ? this : nullptr; }
  // Whether nothing more is to be put. Precondition, of the next one too: what was put has been computed.
  bool done() const { return stored_.has_value(); }
  // How it went, of which order; kRetry where it is not done.
  std::pair<std::uint64_t, Result<std::string>> finish();

 private:
  StoreCut store_;
  std::optional<Cut> cut_;
  std::unique_ptr<CutSink> sink_;
  std::vector<Piece> pieces_;
  bool last_ = false;
  bool ready_ = false;
  std::optional<Result<std::string>> stored_;
};

}  // namespace thalweg
