// The rows of a checkpoint, whichever of its layers has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_dir.h"
#include "checkpoint/part_file.h"
#include "node/disk.h"
#include "table/row_cells.h"

namespace thalweg::checkpoint {

class Contents {
 public:
  // kIo or kModel, naming the file.
  static Result<Contents> open(const Disk& disk, const std::string& path);
  // As open_layers() has them.
  static Result<Contents> of(const Disk& disk, std::vector<Layer> layers);

  const Manifest& manifest() const { return layers_.front().manifest; }
  // Whether some of its rows are in earlier checkpoints.
  bool is_layered() const { return layers_.size() > 1; }

  struct Block {
    const File* file = nullptr;
    BlockPlace place;
    std::size_t layer = 0;  // 0: the checkpoint's own.
  };
  // All that have rows which may be the checkpoint's: those of the oldest layer first, and of a layer's files
  // in turn. In those of one range and layer rows ascend.
  const std::vector<Block>& rows() const { return rows_; }
  const std::vector<Block>& states() const { return states_; }
  // Those of rows() that are of one range.
  std::span<const Block> rows(TableId table, RangeId range) const {
    const auto found = by_range_.find({table.value, range.value});
    return found == by_range_.end() ? std::span<const Block>() : found->second;
  }
  // Without the rows for which a later layer stands; maybe none is left. On any thread.
  Result<BlockRows> read(const Block& block) const;
  // All rows of one range, ascending, some at a time; nothing where it has none.
  using Sink = std::function<Status(const BlockRows& rows)>;
  Status each(TableId table, RangeId range, const Sink& sink) const;
  // The same of all ranges of a table.
  Status each(TableId table, const Sink& sink) const;
  // Of all that is known of its ranges, in whichever blocks, parts and layers. kModel: there are not as many
  // rows as the manifest says.
  Result<std::uint64_t> hash() const;

 private:
  using Place = std::pair<std::uint16_t, std::uint16_t>;  // Table and range.
  // What layers say of one range.
  struct Covered {
    std::size_t whole = 0;                                  // The newest that has all of its rows.
    std::vector<std::pair<std::size_t, RowCells>> cells{};  // Of later ones, newest first.
  };

  Status open_files(const Disk& disk);
  Status find_cells(std::size_t layer);
  Status find_blocks();

  std::vector<Layer> layers_;                              // The newest first.
  std::vector<std::vector<std::unique_ptr<File>>> files_;  // By layer and part.
  std::map<Place, Covered> covered_;                       // No entry: the newest layer has all.
  std::vector<Block> rows_, states_;
  std::map<Place, std::vector<Block>> by_range_;  // Of rows.
};

}  // namespace thalweg::checkpoint
