// A checkpoint as another number of servers would have stored it.
#pragma once

#include <cstdint>
#include <string>

#include "node/disk.h"

namespace thalweg::checkpoint {

// Makes it in `directory`, which is made where it is not there, of so many parts; returns its path. Each part
// has the next ranges of each table, as equally many as may be; blocks stay as they are, unless some rows are
// in earlier checkpoints: it has all rows itself. All bytes are looked at, of both. kUsage: more parts than
// key ranges, or there is one of that step already. kIo, kModel.
Result<std::string> reshard(Disk& disk, const std::string& path, const std::string& directory,
                            std::uint32_t parts);

// Of all that is known of its ranges, in whichever blocks, parts and earlier checkpoints. kIo, kModel.
Result<std::uint64_t> content_hash(const Disk& disk, const std::string& path);

}  // namespace thalweg::checkpoint
