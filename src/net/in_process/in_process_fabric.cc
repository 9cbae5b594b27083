#include "net/in_process/in_process_fabric.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "net/group/call_board.h"
#include "net/relax.h"

namespace thalweg {
namespace {

constexpr std::size_t kStreamBytes = std::size_t{256} << 10;
constexpr std::size_t kAlignment = 64;
constexpr int kSpins = 2000;

// Bytes of one link, written by one thread and read by one other.
struct Stream {
  alignas(64) std::atomic<std::uint64_t> written{0};
  std::uint64_t read_seen = 0;  // The writer's last look at `read`.
  alignas(64) std::atomic<std::uint64_t> read{0};
  std::uint64_t written_seen = 0;  // The reader's last look at `written`.
  alignas(64) std::atomic<bool> writer_waits{false};
  std::atomic<std::uint64_t> given_up{0};  // The number of the writer's first operation that it gave up, + 1.
  alignas(64) std::atomic<bool> held{false};  // The reader works on memory of the writer's.
  const std::unique_ptr<std::byte[]> bytes{new std::byte[kStreamBytes]};
};

// All channels from one rank to another; a stream is there once its writer has used it.
struct Streams {
  std::array<std::atomic<Stream*>, limits::kChannelsMax> by_channel{};
  ~Streams() {
    for (auto& stream : by_channel) delete stream.load(std::memory_order_relaxed);
  }
};

// Where a rank's thread sleeps.
class Sleeper {
 public:
  void notify() {
    events_.fetch_add(1, std::memory_order_seq_cst);
    if (!asleep_.load(std::memory_order_seq_cst)) return;
    const std::lock_guard lock(mutex_);
    changed_.notify_one();
  }
  // Until an event since the last call's return, or `until`.
  void wait(Instant until, int spins) {
    for (int i = 0; i < spins && events_.load(std::memory_order_acquire) == seen_; ++i) relax();
    if (events_.load(std::memory_order_acquire) == seen_) {
      std::unique_lock lock(mutex_);
      asleep_.store(true, std::memory_order_seq_cst);
      const auto happened = [this] { return events_.load(std::memory_order_seq_cst) != seen_; };
      if (until == kNever) {
        changed_.wait(lock, happened);
      } else {
        changed_.wait_until(lock, std::chrono::steady_clock::time_point(Duration(until.ns)), happened);
      }
      asleep_.store(false, std::memory_order_relaxed);
    }
    seen_ = events_.load(std::memory_order_acquire);
  }

 private:
  alignas(64) std::atomic<std::uint64_t> events_{0};
  std::atomic<bool> asleep_{false};
  std::uint64_t seen_ = 0;  // The sleeping thread's.
  std::mutex mutex_;
  std::condition_variable changed_;
};

class InProcessCalls;

struct Ranks {
  explicit Ranks(std::uint32_t count)
      : size(count), boards(count), sleepers(count), gone(count), streams(std::size_t{count} * count) {}
  ~Ranks() {
    for (auto& pair : streams) delete pair.load(std::memory_order_relaxed);
  }
  std::atomic<Streams*>& between(std::uint32_t from, std::uint32_t to) {
    return streams[std::size_t{from} * size + to];
  }
  const std::uint32_t size;
  std::atomic<bool> any_gone{false};  // Or lost by a verdict.
  std::mutex mutex;                   // Guards what follows.
  std::optional<Verdict> verdict;
  std::vector<InProcessCalls*> boards;  // By rank; null once it is gone.
  std::vector<Sleeper> sleepers;
  std::vector<std::atomic<bool>> gone;
  std::vector<std::atomic<Streams*>> streams;
};

// Ranks of one process look at each other's notes.
class InProcessCalls final : public CallBoard {
 public:
  InProcessCalls(Ranks& ranks, std::uint32_t rank) : ranks_(ranks), rank_(rank) { put(this); }
  ~InProcessCalls() override { put(nullptr); }
  void show(std::uint32_t peer, const CallNote& note) override {
    Status same;
    {
      const std::lock_guard lock(ranks_.mutex);
      if (const InProcessCalls* other = ranks_.boards[peer]) same = other->compare(note);
    }
    if (!same.ok()) judge({peer, std::move(same)});
  }
  std::optional<Verdict> ask(std::uint32_t peer, const CallNote& note) override {
    show(peer, note);
    return found();
  }
  void judge(Verdict verdict) override {
    {
      const std::lock_guard lock(ranks_.mutex);
      if (!ranks_.verdict) ranks_.verdict = std::move(verdict);
    }
    ranks_.any_gone.store(true);
    for (Sleeper& sleeper : ranks_.sleepers) sleeper.notify();
  }
  std::optional<Verdict> found() const override {
    const std::lock_guard lock(ranks_.mutex);
    return ranks_.verdict;
  }

 private:
  void put(InProcessCalls* board) {
    const std::lock_guard lock(ranks_.mutex);
    ranks_.boards[rank_] = board;
  }
  Ranks& ranks_;
  const std::uint32_t rank_;
};

class InProcessFabric final : public LiveFabric {
 public:
  InProcessFabric(std::shared_ptr<Ranks> ranks, std::uint32_t rank)
      : ranks_(std::move(ranks)),
        rank_(rank),
        spins_(ranks_->size <= std::thread::hardware_concurrency() ? kSpins : 0),
        calls_(*ranks_, rank) {}
  ~InProcessFabric() override {
    ranks_->gone[rank_].store(true);
    ranks_->any_gone.store(true);
    for (Sleeper& sleeper : ranks_->sleepers) sleeper.notify();
  }

  std::size_t write(Link to, std::span<const Piece> pieces) override {
    Stream& stream = outgoing(to);
    const std::uint64_t begin = stream.written.load(std::memory_order_relaxed);
    std::uint64_t end = begin;
    for (const Piece& piece : pieces) {
      const std::size_t put = append(stream, end, piece);
      end += put;
      if (put < piece.size) break;
    }
    if (end == begin) return 0;
    stream.written.store(end, std::memory_order_release);
    ranks_->sleepers[to.peer].notify();
    return end - begin;
  }

  Piece peek(Link from, std::size_t want) override {
    Stream* const stream = incoming(from);
    if (!stream) return {};
    const std::uint64_t at = stream->read.load(std::memory_order_relaxed);
    if (stream->written_seen - at < want) {
      stream->written_seen = stream->written.load(std::memory_order_acquire);
    }
    const std::size_t offset = at % kStreamBytes;
    const std::size_t ready = stream->written_seen - at;
    return {stream->bytes.get() + offset, std::min({ready, want, kStreamBytes - offset})};
  }

  void consume(Link from, std::size_t bytes) override {
    Stream* const stream = incoming(from);
    THALWEG_CHECK(stream, "only bytes that were shown are consumed");
    const std::uint64_t at = stream->read.load(std::memory_order_relaxed) + bytes;
    stream->read.store(at, std::memory_order_seq_cst);
    if (!stream->writer_waits.load(std::memory_order_seq_cst)) return;
    stream->writer_waits.store(false, std::memory_order_relaxed);
    ranks_->sleepers[from.peer].notify();
  }

  std::size_t read(Link from, std::byte* into, std::size_t size) override {
    std::size_t done = 0;
    while (done < size) {
      const Piece piece = peek(from, size - done);
      if (piece.size == 0) break;
      std::memcpy(into + done, piece.data, piece.size);
      consume(from, piece.size);
      done += piece.size;
    }
    return done;
  }

  std::vector<RankPlace> places() const override {
    const std::uint32_t cores = std::max(std::thread::hardware_concurrency(), 1U);
    return std::vector<RankPlace>(ranks_->size, {0, 0, cores});
  }
  Result<std::byte*> allocate(std::size_t size) override {
    const std::size_t bytes = (size + kAlignment - 1) / kAlignment * kAlignment;
    void* const memory = std::aligned_alloc(kAlignment, std::max(bytes, kAlignment));
    if (!memory) return Status(Code::kIo, "no memory for " + std::to_string(size) + " bytes");
    std::memset(memory, 0, bytes);
    allocated_.emplace_back(static_cast<std::byte*>(memory), &std::free);
    return allocated_.back().get();
  }
  void deallocate(std::byte* memory) override {
    const auto same = [memory](const auto& other) { return other.get() == memory; };
    const auto removed = std::remove_if(allocated_.begin(), allocated_.end(), same);
    THALWEG_CHECK(removed != allocated_.end(), "only allocated memory is freed, once");
    allocated_.erase(removed, allocated_.end());
  }
  std::uint64_t shared_offset(const void* data, std::size_t) override {
    return reinterpret_cast<std::uintptr_t>(data);
  }
  std::byte* shared_by(std::uint32_t, std::uint64_t offset, std::size_t) override {
    return reinterpret_cast<std::byte*>(offset);
  }

  // Each side says first what it does and then looks at the other's word.
  bool hold(Link with, std::uint64_t sequence) override {
    Stream* const stream = incoming(with);
    if (!stream) return false;
    stream->held.store(true, std::memory_order_seq_cst);
    const std::uint64_t first = stream->given_up.load(std::memory_order_seq_cst);
    if (first == 0 || first > sequence + 1) return true;
    let_go(with);
    return false;
  }
  void let_go(Link with) override { incoming(with)->held.store(false, std::memory_order_release); }
  // A peer that was never written to does not know of any memory.
  void give_up(Link with, std::uint64_t sequence) override {
    Streams* const pair = ranks_->between(rank_, with.peer).load(std::memory_order_acquire);
    Stream* const stream = pair ? pair->by_channel[with.channel].load(std::memory_order_acquire) : nullptr;
    if (!stream) return;
    std::uint64_t none = 0;
    stream->given_up.compare_exchange_strong(none, sequence + 1, std::memory_order_seq_cst);
    while (stream->held.load(std::memory_order_seq_cst)) std::this_thread::yield();
  }

  void wait(Instant until) override { ranks_->sleepers[rank_].wait(until, spins_); }
  void wake() override { ranks_->sleepers[rank_].notify(); }
  CallBoard* calls() override { return &calls_; }
  bool any_lost() override { return ranks_->any_gone.load(std::memory_order_acquire); }
  Status peer_status(std::uint32_t peer) override {
    if (const auto verdict = calls_.found(); verdict && verdict->guilty == peer) return verdict->status;
    if (!ranks_->gone[peer].load()) return ok_status();
    return {Code::kPeerLost, "rank " + std::to_string(peer) + " has left the group"};
  }

 private:
  using Allocated = std::unique_ptr<std::byte, void (*)(void*)>;

  Stream& outgoing(Link to) {
    std::atomic<Streams*>& pair = ranks_->between(rank_, to.peer);
    if (!pair.load(std::memory_order_relaxed)) pair.store(new Streams, std::memory_order_release);
    std::atomic<Stream*>& stream = pair.load(std::memory_order_relaxed)->by_channel[to.channel];
    if (!stream.load(std::memory_order_relaxed)) stream.store(new Stream, std::memory_order_release);
    return *stream.load(std::memory_order_relaxed);
  }
  Stream* incoming(Link from) {
    Streams* const pair = ranks_->between(from.peer, rank_).load(std::memory_order_acquire);
    return pair ? pair->by_channel[from.channel].load(std::memory_order_acquire) : nullptr;
  }
  // Bytes of `piece` that found room behind the stream's position `at`.
  static std::size_t append(Stream& stream, std::uint64_t at, const Piece& piece) {
    const std::size_t room = room_at(stream, at, piece.size);
    const std::size_t size = std::min(piece.size, room), offset = at % kStreamBytes;
    const std::size_t first = std::min(size, kStreamBytes - offset);
    if (first > 0) std::memcpy(stream.bytes.get() + offset, piece.data, first);
    if (size > first) std::memcpy(stream.bytes.get(), piece.data + first, size - first);
    return size;
  }
  // At least `want`, or else the reader will tell when it has made more.
  static std::size_t room_at(Stream& stream, std::uint64_t at, std::size_t want) {
    const auto room = [&stream, at] {
      return kStreamBytes - static_cast<std::size_t>(at - stream.read_seen);
    };
    if (room() < want) stream.read_seen = stream.read.load(std::memory_order_acquire);
    if (room() < want) {
      stream.writer_waits.store(true, std::memory_order_seq_cst);
      stream.read_seen = stream.read.load(std::memory_order_seq_cst);
    }
    return room();
  }

  const std::shared_ptr<Ranks> ranks_;
  const std::uint32_t rank_;
  const int spins_;
  InProcessCalls calls_;
  std::vector<Allocated> allocated_;
};

}  // namespace

std::vector<std::unique_ptr<LiveFabric>> make_in_process_fabrics(std::uint32_t ranks) {
  const auto shared = std::make_shared<Ranks>(ranks);
  std::vector<std::unique_ptr<LiveFabric>> fabrics;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    fabrics.push_back(std::make_unique<InProcessFabric>(shared, rank));
  }
  return fabrics;
}

}  // namespace thalweg
