// Writes a file of blocks, as part_file.h has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/payload.h"
#include "checkpoint/manifest.h"
#include "checkpoint/part_file.h"
#include "model/format/file.h"
#include "node/disk.h"
#include "thalweg/ids.h"

namespace thalweg::checkpoint {

inline constexpr std::size_t kBlockHeaderBytes = 24;

class PartWriter {
 public:
  // The file is empty, and outlives this.
  explicit PartWriter(File& file) : stream_(file), file_(file) { file.expect_no_reads(); }

  Status add(TableId table, RangeId range, std::size_t rows, const Payload& plain);
  // A block of another file as it stands there.
  Status copy(const File& from, const BlockPlace& place);
  // Says in `part` how long it is, and its hashes.
  Status finish(Part& part);

 private:
  Status write(const BlockPlace& place, std::span<const std::byte> frame);

  FileStream stream_;
  File& file_;
  StreamHash hash_, headers_;
  std::vector<std::byte> plain_, frame_;
};

}  // namespace thalweg::checkpoint
