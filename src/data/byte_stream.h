// The bytes of a file, pipe or standard input in order, unpacked if they are gzip, zstd, xz or bzip2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "data/unpack/commands_ahead.h"
#include "thalweg/status.h"

namespace thalweg {

enum class Packing : std::uint8_t { kPlain, kGzip, kZstd, kXz, kBzip2, kIdx, kText, kCommand };
// Rows that this program makes, images and windows of text.
constexpr bool is_computed(Packing packing) { return packing == Packing::kIdx || packing == Packing::kText; }

// One thread at a time.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Up to `size` unpacked bytes; 0: the end. Damaged or cut packed data is an error. kRetry: see give_way().
  virtual Result<std::size_t> read(char* to, std::size_t size) = 0;
  // From now on read() returns kRetry, and loses nothing, where a pipe's writer lets it wait.
  virtual void give_way() = 0;
  virtual std::uint64_t bytes_consumed() const = 0;  // Of the packed file.
  virtual Packing packing() const = 0;
};

// Looks at the first bytes, not at the name. path "-": standard input. Images come as rows, see idx.h. With
// `commands` the bytes are the output of the next one, which must be the path's.
Result<std::unique_ptr<ByteStream>> open_byte_stream(const std::string& path,
                                                     CommandsAhead* commands = nullptr);

// The same of a file that is nothing but bytes.
Result<std::unique_ptr<ByteStream>> open_unpacked(const std::string& path, CommandsAhead* commands = nullptr);

}  // namespace thalweg
