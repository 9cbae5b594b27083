// Compressed files and pipes: one unpacking pass over the data serves all shards that this process reads. The
// text is cut into chunks of kStreamChunkBytes (a line belongs to the chunk in which it starts), images and
// windows of text into chunks of few rows, since rows that are dear to compute must fall evenly; chunk i goes
// to shard i mod shards, waits in a bounded stash for its reader, or is dropped if nobody here reads that
// shard.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "data/block.h"
#include "data/input_files.h"

namespace thalweg {

// Text of one chunk: whole lines and kTextPad bytes.
struct StreamChunk {
  std::vector<char> bytes;
  std::size_t size = 0;
  TextBlock block;  // Into `bytes`.
};
using StreamChunkRef = std::shared_ptr<const StreamChunk>;

// Cuts all files' unpacked text into chunks, in order. One thread at a time.
class ChunkCutter {
 public:
  struct Rules {
    bool header = false;
    bool comments = false;
    bool count_rows = false;
    bool hash_text = false;
    bool as_it_comes = false;  // A pipe's chunk ends with the last line that is there; for one shard.
    bool give_way = false;     // next() returns kRetry where a pipe's writer lets it wait.
    Reads reads = Reads::kAll;
  };
  ChunkCutter(std::vector<InputFile>& files, Rules rules);
  // Null: the end. `index`: the chunk's number over all files.
  Result<StreamChunkRef> next(std::uint64_t& index);
  std::uint64_t bytes_consumed() const;
  std::uint64_t hash() const { return hash_; }  // Of all chunks so far; 0 unless text is to be hashed.

 private:
  Status open_file();
  Status skip_first_line();
  Result<bool> read_more(std::size_t size);
  Result<bool> read_on(std::size_t size);
  // Of the next chunk in text_; 0: nothing is left of the file.
  Result<std::size_t> end_of_bytes();
  std::size_t end_of_what_came() const;
  Result<std::size_t> end_of_rows();
  StreamChunkRef cut(std::size_t size);

  std::vector<InputFile>& files_;
  Rules rules_;
  std::optional<CommandsAhead> commands_;  // Where files are the output of one.
  std::uint32_t file_ = 0;
  std::unique_ptr<ByteStream> stream_;
  bool stream_ended_ = false;
  std::vector<char> text_;    // Read and not yet cut.
  std::uint64_t offset_ = 0;  // Of text_ in the file's unpacked text.
  std::uint64_t lines_ = 0;   // Of the file, before text_.
  std::uint64_t rows_ = 0;    // Of all files, before text_.
  std::uint64_t chunks_before_file_ = 0;
  std::uint64_t consumed_before_file_ = 0;
  std::uint64_t hash_ = 0;
};

// All passes over the data; thread-safe. A reader is known by a number from join() to leave().
class StreamHub {
 public:
  StreamHub(std::vector<InputFile> files, ChunkCutter::Rules rules);

  // See DataSet::give_way().
  void give_way();
  // epoch: which pass the reader starts with, counted from 0.
  std::uint64_t join(std::uint32_t shard, std::uint32_t shards, std::uint32_t epoch, Reads reads);
  void leave(std::uint64_t reader);
  // The reader's next chunk of this pass; null: the end. kRetry: the stash is full of other readers' chunks,
  // or see give_way().
  Result<StreamChunkRef> take(std::uint64_t reader);
  // The reader takes nothing of its present pass: no chunk is kept for it.
  void pass_over(std::uint64_t reader);
  // Ends the reader's pass. An error if the data cannot be read again.
  Status next_epoch(std::uint64_t reader);
  double fraction_done(std::uint64_t reader);
  std::uint64_t hash_of_all(std::uint64_t reader);  // See BlockSource.

 private:
  struct Pass {
    Pass(std::vector<InputFile>& files, ChunkCutter::Rules rules, std::uint32_t shards)
        : cutter(files, rules), queues(shards) {}
    struct Queue {
      std::uint64_t owner = 0;  // The reader; 0: none yet.
      bool open = false;        // Chunks are kept.
      std::deque<StreamChunkRef> chunks;
    };
    bool unused() const;

    std::mutex cutting;  // Held while the text is unpacked; taken before mutex_.
    ChunkCutter cutter;
    std::vector<Queue> queues;
    std::size_t stashed_bytes = 0;
    bool ended = false;
    Status status;
    std::uint64_t consumed = 0;
    std::uint64_t hash = 0;  // Of all text, once it has ended.
  };
  struct Reader {
    std::uint32_t shard, shards, epoch;
    Reads reads;
    std::shared_ptr<Pass> pass;
    bool passes_over = false;  // Its present pass.
    bool looks() const { return reads == Reads::kBegin; }
  };
  using PassKey = std::pair<std::uint32_t, std::uint32_t>;  // Epoch, shards.

  Status enter_pass(std::uint64_t id, Reader& reader);
  void leave_pass(Reader& reader);
  static void close(Pass& pass, Pass::Queue& queue);
  void start_shared_pass(Pass& pass, const PassKey& key);
  void store(Pass& pass, std::uint64_t index, Result<StreamChunkRef> chunk);

  std::vector<InputFile> files_;
  ChunkCutter::Rules rules_;
  bool once_ = false;  // Some file is a pipe.
  std::uint64_t packed_bytes_ = 0;
  std::mutex mutex_;  // Guards all below and every pass but its cutter.
  std::uint64_t last_reader_ = 0;
  std::map<std::uint64_t, Reader> readers_;
  std::map<PassKey, std::shared_ptr<Pass>> passes_;
};

// One shard's blocks from a hub.
class StreamBlocks final : public BlockSource {
 public:
  StreamBlocks(std::shared_ptr<StreamHub> hub, std::uint32_t shard, std::uint32_t shards, std::uint32_t epoch,
               Reads reads)
      : hub_(std::move(hub)), reader_(hub_->join(shard, shards, epoch, reads)) {}
  ~StreamBlocks() override { hub_->leave(reader_); }
  StreamBlocks(const StreamBlocks&) = delete;
  StreamBlocks& operator=(const StreamBlocks&) = delete;

  Result<bool> next(TextBlock& block) override;
  Status rewind() override { return hub_->next_epoch(reader_); }
  void pass_over() override { hub_->pass_over(reader_); }
  double fraction_done() const override { return hub_->fraction_done(reader_); }
  std::uint64_t hash_of_all() const override { return hub_->hash_of_all(reader_); }

 private:
  std::shared_ptr<StreamHub> hub_;
  std::uint64_t reader_;
  StreamChunkRef chunk_;
};

}  // namespace thalweg
