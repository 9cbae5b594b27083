// Plain files as chunks of bytes that any shard reads directly: chunk i belongs to shard i mod shards, and a
// line belongs to the chunk in which it starts.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/block.h"
#include "data/input_files.h"
#include "data/order/chunk_order.h"

namespace thalweg {

// How files fall into chunks; chunks are numbered on from file to file.
class ChunkGrid {
 public:
  // Chunk size: an even part of the data, so that each shard has about 16 chunks, within kMin/kMaxChunkBytes.
  ChunkGrid(const std::vector<InputFile>& files, std::uint32_t shards);
  struct Chunk {
    std::uint32_t file;
    std::uint64_t begin, end;  // Bytes of that file.
  };
  std::uint64_t size() const { return first_chunk_.back(); }
  Chunk chunk(std::uint64_t index) const;

 private:
  std::vector<std::uint64_t> sizes_;
  std::vector<std::uint64_t> first_chunk_;  // Of each file, and the number of all chunks.
  std::uint64_t chunk_bytes_;
};

// Opened plain files and, if rows are held out, the number of rows before each chunk: found by counting lines
// no further than was asked for. Thread-safe.
class PlainFiles {
 public:
  struct Rules {
    bool header = false;    // The first line of each file is no row.
    bool comments = false;  // Lines that start with '#' are no rows.
    bool count_rows = false;
    bool hash_text = false;
  };
  static Result<std::shared_ptr<PlainFiles>> open(const std::vector<InputFile>& files, std::uint32_t shards,
                                                  Rules rules);
  ~PlainFiles();
  PlainFiles(const PlainFiles&) = delete;
  PlainFiles& operator=(const PlainFiles&) = delete;

  const ChunkGrid& grid() const { return grid_; }
  const Rules& rules() const { return rules_; }
  const std::string& path(std::uint32_t file) const { return paths_[file]; }
  // Exactly `size` bytes; a file that became shorter is an error.
  Status read(std::uint32_t file, std::uint64_t offset, char* to, std::size_t size) const;
  std::uint64_t file_size(std::uint32_t file) const { return sizes_[file]; }
  Result<std::uint64_t> rows_before(std::uint64_t chunk);

 private:
  PlainFiles(const std::vector<InputFile>& files, std::uint32_t shards, Rules rules);
  Status read_at(int fd, std::uint32_t file, std::uint64_t offset, char* to, std::size_t size) const;

  ChunkGrid grid_;
  Rules rules_;
  std::vector<std::string> paths_;
  std::vector<std::uint64_t> sizes_;
  std::vector<int> fds_;  // Empty if there are more files than kMaxOpenFiles: then each read opens one.
  std::mutex counting_;
  std::vector<std::uint64_t> rows_before_{0};  // Of chunks 0, 1, ... as far as counted.
};

// The lines of one chunk, block after block.
class ChunkLines {
 public:
  explicit ChunkLines(std::shared_ptr<const PlainFiles> files);
  void start(std::uint64_t chunk);
  Result<bool> next(TextBlock& block);

 private:
  Status read_more(std::size_t size);
  Status find_first_line();
  void deliver(std::size_t end, TextBlock& block);

  std::shared_ptr<const PlainFiles> files_;
  ChunkGrid::Chunk chunk_{};
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // Read and not yet delivered.
  std::uint64_t at_ = 0;             // File offset of buffer_[end_].
  bool started_ = false;
};

// One shard's chunks.
class PlainBlocks final : public BlockSource {
 public:
  PlainBlocks(std::shared_ptr<PlainFiles> files, std::uint32_t shard, std::uint32_t shards,
              const RowShuffle& shuffle = {}, std::uint32_t epoch = 0);
  Result<bool> next(TextBlock& block) override;
  Status rewind() override;
  double fraction_done() const override;
  std::uint64_t hash_of_all() const override { return 0; }

 private:
  std::shared_ptr<PlainFiles> files_;
  std::uint32_t shard_, shards_;
  ChunkLines lines_;
  ChunkOrder order_;
  std::uint64_t at_ = 0;  // In order_.
  bool in_chunk_ = false;
};

}  // namespace thalweg
