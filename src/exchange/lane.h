// A lane: some of a rank's steps, in order, written as a coroutine and made one at a time.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory_resource>
#include <utility>

#include "exchange/block.h"

namespace thalweg {

// The vectors of an operation, all indexed by the same elements.
enum class Buffer : std::uint8_t {
  kIn,      // The caller's contribution; never written.
  kWork,    // Where the result comes to be.
  kSpare,   // Scratch of the same size.
  kPlaces,  // Where the ranks' buffers are in shared memory, by rank.
};

struct LaneStep {
  enum class Kind : std::uint8_t {
    kSend,     // from[block] to peer.
    kReceive,  // to[block] = what peer sends.
    kReduce,   // to[block] = from[block] + what peer sends.
    kCopy,     // to[block at to_begin] = from[block].
    kFinish,   // work[block] is summed up: a mean divides it.
    kShared,   // The rank's share of the operation, in its peers' memory.
    // Between ranks of one machine whose buffers are anywhere (ordinary_memory.h). Blocks count from where
    // each rank's part begins.
    kOffer,       // What peers are to see goes to this rank's staging area.
    kOfferEarly,  // The same before they have met, if this rank is one that does so.
    kSum,         // The rank's part is summed up.
    kTake,        // Others' parts come to work.
    kFetch,       // All that the only peer contributes comes here.
    kAdd,         // work = the sum of this rank's contribution and of what was fetched.
  };
  Kind kind{};
  Buffer from = Buffer::kWork;
  Buffer to = Buffer::kWork;
  std::uint32_t peer = 0;  // Rank within the group.
  Block block{};
  std::uint16_t channel = 0;   // Beyond the lane's own.
  std::uint64_t to_begin = 0;  // Copy alone.
  bool peer_first = false;     // Reduce alone: what peer sends is of lower ranks than `from`.
  bool fetches = false;        // kSum and kTake: out of peers' memory, not their staging areas.
  constexpr bool operator==(const LaneStep&) const = default;
};

constexpr LaneStep send(std::uint32_t peer, Block block, Buffer from = Buffer::kWork) {
  return {LaneStep::Kind::kSend, from, from, peer, block};
}
// What a peer's next lane receives.
constexpr LaneStep send_across(std::uint32_t peer, Block block) {
  return {LaneStep::Kind::kSend, Buffer::kWork, Buffer::kWork, peer, block, 1};
}
constexpr LaneStep receive(std::uint32_t peer, Block block, Buffer to = Buffer::kWork) {
  return {LaneStep::Kind::kReceive, to, to, peer, block};
}
constexpr LaneStep reduce(std::uint32_t peer, Block block, Buffer from = Buffer::kWork,
                          Buffer to = Buffer::kWork) {
  return {LaneStep::Kind::kReduce, from, to, peer, block};
}
constexpr LaneStep reduce_before(std::uint32_t peer, Block block, Buffer from = Buffer::kWork,
                                 Buffer to = Buffer::kWork) {
  LaneStep step = reduce(peer, block, from, to);
  step.peer_first = true;
  return step;
}
constexpr LaneStep copy_to(Block block, std::uint64_t to_begin, Buffer from, Buffer to = Buffer::kWork) {
  return {LaneStep::Kind::kCopy, from, to, 0, block, 0, to_begin};
}
constexpr LaneStep copy(Block block, Buffer from, Buffer to = Buffer::kWork) {
  return copy_to(block, block.begin, from, to);
}
constexpr LaneStep finish(Block block) {
  return {LaneStep::Kind::kFinish, Buffer::kWork, Buffer::kWork, 0, block};
}

// Lane i uses channel i, and no two lanes of a rank receive from, or send to, one peer on one channel. A send
// is begun, not waited for, so a lane may send and then receive from a peer that does the same. The
// step that would overwrite bytes still being sent waits by itself.
class [[nodiscard]] Lane {
 public:
  struct promise_type {
    LaneStep step{};
    // In the memory that the work of the lane names, if any.
    template <class... Args>
    static void* operator new(std::size_t size, const Args&... args) {
      std::pmr::memory_resource* memory = nullptr;
      (take_memory(args, memory), ...);
      if (!memory) memory = std::pmr::new_delete_resource();
      void* const room = memory->allocate(kHead + size);
      *static_cast<std::pmr::memory_resource**>(room) = memory;
      return static_cast<std::byte*>(room) + kHead;
    }
    static void operator delete(void* frame, std::size_t size) {
      void* const room = static_cast<std::byte*>(frame) - kHead;
      (*static_cast<std::pmr::memory_resource**>(room))->deallocate(room, kHead + size);
    }
    Lane get_return_object() { return Lane(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(LaneStep next) noexcept {
      step = next;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }

   private:
    static constexpr std::size_t kHead = alignof(std::max_align_t);  // Before a frame: whose memory it is.
    template <class Arg>
    static void take_memory(const Arg& arg, std::pmr::memory_resource*& memory) {
      if constexpr (requires { arg.frames; }) memory = arg.frames;
    }
  };

  // A lane of one step, which needs no coroutine.
  explicit Lane(const LaneStep& only) : only_(only), left_(true) {}
  Lane(Lane&& other) noexcept
      : handle_(std::exchange(other.handle_, {})), only_(other.only_), left_(other.left_) {}
  Lane& operator=(Lane&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(only_, other.only_);
    std::swap(left_, other.left_);
    return *this;
  }
  ~Lane() {
    if (handle_) handle_.destroy();
  }

  // Whether there was another step; it is step() then.
  bool next() {
    if (!handle_) return std::exchange(left_, false);
    handle_.resume();
    return !handle_.done();
  }
  const LaneStep& step() const { return handle_ ? handle_.promise().step : only_; }

 private:
  explicit Lane(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
  LaneStep only_{};
  bool left_ = false;  // Of a lane of one step.
};

}  // namespace thalweg
