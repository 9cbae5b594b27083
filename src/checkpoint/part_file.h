// Files of what servers store of their ranges: blocks, each of one key range of one table, compressed by zstd
// (RFC 8878) with a checksum of its own. One of no rows has what else is known of the range; one of 2^32-1
// has the cells of the range whose rows it has all of, where others are in an earlier checkpoint.
//
//   file  := block*
//   block := table:u16 range:u16 rows:u32 bytes:u32 stored_bytes:u32 hash:u64 frame
//   plain := key:u64{rows} row:f32*{rows}, or where rows is 0 the state of server/range_state.cc, or cells as
//            table/row_cells.cc has them
//
// `hash` is the XXH3-64 of the frame, which unpacked is `plain`, `bytes` long. All integers are
// little-endian. A part's manifest entry has the whole file's length and XXH3-128, and that of all headers,
// so that what is read of the file can be told to be whole without the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/payload.h"
#include "checkpoint/manifest.h"
#include "node/disk.h"
#include "server/cut.h"

namespace thalweg::checkpoint {

// Stores cuts, each below its order's place, a directory that is made where it is not there, and each piece
// of rows as a block. kIo names path and bytes. `disk` outlives it.
StoreCut store_cut(Disk& disk);

// kModel, naming the file: it is not what the manifest says. All of it is read.
Status check_part(const Disk& disk, const std::string& directory, const Part& part);

struct BlockPlace {
  TableId table;
  RangeId range;
  std::uint32_t rows = 0;
  std::uint64_t offset = 0;  // Of the frame.
  std::uint32_t bytes = 0;   // Unpacked.
  std::uint32_t stored_bytes = 0;
  std::uint64_t hash = 0;
};
// The places of a part's blocks, in their order. kModel, naming the file: it has blocks of more tables, or
// other headers than `part` says, if it does, some of which the sink has had then.
Status scan_blocks(const File& file, const Part& part, std::size_t tables,
                   const std::function<Status(const BlockPlace&)>& sink);

inline constexpr std::uint32_t kRowsOfCells = ~std::uint32_t{0};
inline bool holds_state(const BlockPlace& place) { return place.rows == 0; }
inline bool holds_cells(const BlockPlace& place) { return place.rows == kRowsOfCells; }
// What a block has, unpacked. kModel: it is damaged.
Result<Bytes> read_plain(const File& file, const BlockPlace& place);

// Rows of one range, with their optimizer state.
struct BlockRows {
  Payload rows;
  std::size_t width = 0;  // Floats a row.
};
// kModel: they are none of a table like this.
Result<BlockRows> read_rows(const File& file, const BlockPlace& place, const TableSpec& spec);

}  // namespace thalweg::checkpoint
