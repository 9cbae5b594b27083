// Text on its way from a source to a row parser.
#pragma once

#include <cstdint>

#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

// How much of its text a reader is for: where files are the output of a command, those behind the one that is
// read are made ahead, or not.
enum class Reads : std::uint8_t { kAll, kBegin };

// Whole lines of one file: end[-1] is '\n' and kTextPad bytes after `end` may be read.
struct TextBlock {
  const char* begin = nullptr;
  const char* end = nullptr;
  std::uint32_t file = 0;
  std::uint64_t offset = 0;             // Of `begin` in the (unpacked) file.
  std::uint64_t first_line = kUnknown;  // Lines of the file before `begin`.
  std::uint64_t first_row =
      kUnknown;            // Rows of all files before `begin`; kUnknown: goes on from the last block.
  std::uint64_t hash = 0;  // hash64() of the text, if text is to be hashed.
};

// One data shard's text, block after block. Used by one thread at a time.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // False at the shard's end. The block stays valid until the next call. kRetry: see RowReader::next().
  virtual Result<bool> next(TextBlock& block) = 0;
  virtual Status rewind() = 0;
  // Nothing of this pass is read: others that unpack the same text do not wait for it.
  virtual void pass_over() {}
  virtual double fraction_done() const = 0;
  // At the shard's end, where the text of all shards was unpacked for it: the hash of all; else 0.
  virtual std::uint64_t hash_of_all() const = 0;
};

}  // namespace thalweg
