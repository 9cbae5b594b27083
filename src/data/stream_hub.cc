#include "data/stream_hub.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace thalweg {
namespace {

Status cannot_reread() {
  return {Code::kUsage,
          "standard input or a pipe can be read only once, expected a file for several epochs or readers"};
}

}  // namespace

StreamHub::StreamHub(std::vector<InputFile> files, ChunkCutter::Rules rules)
    : files_(std::move(files)), rules_(rules) {
  for (const InputFile& file : files_) {
    once_ = once_ || !file.seekable;
    packed_bytes_ += file.size_bytes;
  }
}

void StreamHub::give_way() {
  const std::lock_guard<std::mutex> lock(mutex_);
  rules_.give_way = true;
}

std::uint64_t StreamHub::join(std::uint32_t shard, std::uint32_t shards, std::uint32_t epoch, Reads reads) {
  const std::lock_guard<std::mutex> lock(mutex_);
  readers_.emplace(++last_reader_, Reader{shard, shards, once_ ? 0 : epoch, reads, nullptr});
  return last_reader_;
}

void StreamHub::leave(std::uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = readers_.find(id);
  THALWEG_CHECK(it != readers_.end(), "a reader leaves once");
  leave_pass(it->second);
  // Passes that began without this reader having come to them keep a queue for it.
  for (auto at = passes_.begin(); at != passes_.end();) {
    Pass& pass = *at->second;
    for (Pass::Queue& queue : pass.queues) {
      if (queue.owner == id) close(pass, queue);
    }
    at = !once_ && pass.unused() ? passes_.erase(at) : std::next(at);
  }
  readers_.erase(it);
}

bool StreamHub::Pass::unused() const {
  return std::none_of(queues.begin(), queues.end(), [](const Queue& q) { return q.open; });
}

void StreamHub::close(Pass& pass, Pass::Queue& queue) {
  for (const StreamChunkRef& chunk : queue.chunks) pass.stashed_bytes -= chunk->size;
  queue = {};
}

void StreamHub::pass_over(std::uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Reader& reader = readers_.at(id);
  reader.passes_over = true;
  const auto it = passes_.find(PassKey(reader.epoch, reader.shards));
  if (it == passes_.end()) return;  // It will have no queue there.
  Pass::Queue& queue = it->second->queues[reader.shard];
  if (queue.owner == id || queue.owner == 0) close(*it->second, queue);
  if (!once_ && it->second->unused()) passes_.erase(it);
}

Status StreamHub::next_epoch(std::uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Reader& reader = readers_.at(id);
  if (once_) return cannot_reread();
  leave_pass(reader);
  ++reader.epoch;
  reader.passes_over = false;
  return {};
}

// Every reader that has yet to come to this pass gets a queue, but for those that pass it over; of a pipe,
// every other shard.
void StreamHub::start_shared_pass(Pass& pass, const PassKey& key) {
  for (Pass::Queue& queue : pass.queues) queue.open = once_;
  for (const auto& [id, reader] : readers_) {
    if (reader.shards != key.second || reader.epoch > key.first || reader.looks()) continue;
    Pass::Queue& queue = pass.queues[reader.shard];
    if (queue.owner != 0) continue;
    queue.open = !reader.passes_over || reader.epoch < key.first;
    queue.owner = queue.open ? id : 0;
  }
}

Status StreamHub::enter_pass(std::uint64_t id, Reader& reader) {
  const auto unpack_alone = [&] {
    ChunkCutter::Rules rules = rules_;
    rules.reads = reader.reads;
    reader.pass = std::make_shared<Pass>(files_, rules, reader.shards);
    reader.pass->queues[reader.shard] = {id, true, {}};
  };
  if (reader.looks() && !once_) {
    unpack_alone();
    return {};
  }
  const PassKey key(reader.epoch, reader.shards);
  auto it = passes_.find(key);
  if (it == passes_.end()) {
    if (once_ && !passes_.empty()) return cannot_reread();
    it = passes_.emplace(key, std::make_shared<Pass>(files_, rules_, reader.shards)).first;
    start_shared_pass(*it->second, key);
  }
  Pass::Queue& queue = it->second->queues[reader.shard];
  if (queue.open && queue.owner == 0) queue.owner = id;
  if (queue.owner == id) {
    reader.pass = it->second;
    return {};
  }
  // This reader came after the pass had begun: it unpacks for itself.
  if (once_) return cannot_reread();
  unpack_alone();
  return {};
}

void StreamHub::leave_pass(Reader& reader) {
  if (!reader.pass) return;
  close(*reader.pass, reader.pass->queues[reader.shard]);
  reader.pass.reset();
  if (once_) return;  // A pipe's pass stays known, so that no second one begins.
  const auto it = passes_.find(PassKey(reader.epoch, reader.shards));
  if (it != passes_.end() && it->second->unused()) passes_.erase(it);
}

void StreamHub::store(Pass& pass, std::uint64_t index, Result<StreamChunkRef> chunk) {
  pass.consumed = pass.cutter.bytes_consumed();
  if (!chunk) {
    pass.status = chunk.status();
    pass.ended = true;
  } else if (*chunk == nullptr) {
    pass.ended = true;
    pass.hash = pass.cutter.hash();
  } else {
    Pass::Queue& queue = pass.queues[index % pass.queues.size()];
    if (!queue.open) return;
    pass.stashed_bytes += (*chunk)->size;
    queue.chunks.push_back(std::move(*chunk));
  }
}

Result<StreamChunkRef> StreamHub::take(std::uint64_t id) {
  std::shared_ptr<Pass> pass;
  std::uint32_t shard = 0;
  const auto pop = [&](Result<StreamChunkRef>& out) {
    Pass::Queue& queue = pass->queues[shard];
    if (!queue.chunks.empty()) {
      StreamChunkRef chunk = std::move(queue.chunks.front());
      queue.chunks.pop_front();
      pass->stashed_bytes -= chunk->size;
      out = std::move(chunk);
    } else if (pass->ended) {
      out =
          pass->status.ok() ? Result<StreamChunkRef>(StreamChunkRef()) : Result<StreamChunkRef>(pass->status);
    } else {
      return false;
    }
    return true;
  };
  Result<StreamChunkRef> taken = StreamChunkRef();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Reader& reader = readers_.at(id);
    if (!reader.pass) {
      if (const Status status = enter_pass(id, reader); !status.ok()) return status;
    }
    pass = reader.pass;
    shard = reader.shard;
    if (pop(taken)) return taken;
  }
  for (;;) {
    const std::lock_guard<std::mutex> cutting(pass->cutting);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (pop(taken)) return taken;  // Another reader may have cut it meanwhile.
      if (pass->stashed_bytes >= kStashBytes) {
        return Status(Code::kRetry, "packed data waits for slower shards to take their rows");
      }
    }
    std::uint64_t index = 0;
    Result<StreamChunkRef> chunk = pass->cutter.next(index);
    if (chunk.status().code() == Code::kRetry) return chunk;
    const std::lock_guard<std::mutex> lock(mutex_);
    store(*pass, index, std::move(chunk));
  }
}

double StreamHub::fraction_done(std::uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Reader& reader = readers_.at(id);
  if (!reader.pass || packed_bytes_ == 0) return 0.0;
  return std::min(1.0, static_cast<double>(reader.pass->consumed) / static_cast<double>(packed_bytes_));
}

std::uint64_t StreamHub::hash_of_all(std::uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Reader& reader = readers_.at(id);
  return reader.pass ? reader.pass->hash : 0;
}

Result<bool> StreamBlocks::next(TextBlock& block) {
  Result<StreamChunkRef> chunk = hub_->take(reader_);
  if (!chunk) return chunk.status();
  chunk_ = std::move(*chunk);
  if (!chunk_) return false;
  block = chunk_->block;
  return true;
}

}  // namespace thalweg
