// The shared parameters as one data shard sees them: push, pull, and the clock of steps.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/ids.h"
#include "thalweg/status.h"
#include "thalweg/task.h"

namespace thalweg {

// Floats that never change, shared without a copy.
class Rows {
 public:
  Rows() = default;
  Rows(std::shared_ptr<const void> owner, std::span<const float> values)
      : owner_(std::move(owner)), values_(values) {}
  explicit Rows(std::vector<float> values) {
    auto owner = std::make_shared<const std::vector<float>>(std::move(values));
    values_ = *owner;
    owner_ = std::move(owner);
  }
  std::span<const float> span() const { return values_; }
  std::size_t size() const { return values_.size(); }
  float operator[](std::size_t i) const { return values_[i]; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const float> values_;
};

// The keys of a push or pull: distinct, in the store's own order. Rows of a push or pull follow the same
// order. A dense table's keys are a block of row numbers. Cheap to copy.
class Keys {
 public:
  Keys() = default;
  // Sorts and removes repeats; `order`, when given, gets for each input its position among the result.
  // Precondition: no key is kReservedKey.
  static Keys of(std::span<const Key> keys, std::vector<std::uint32_t>* order = nullptr);
  static Keys block(std::uint64_t first_row, std::uint64_t rows) {
    Keys keys;
    keys.values_ =
        std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{first_row, rows});
    keys.dense_ = true;
    return keys;
  }
  bool dense() const { return dense_; }
  // Number of rows that these keys name.
  std::size_t size() const { return !values_ ? 0 : dense_ ? (*values_)[1] : values_->size(); }
  Key key(std::size_t i) const;  // The user's key at a position.
  const std::shared_ptr<const std::vector<std::uint64_t>>& values() const { return values_; }

 private:
  friend Keys placed_keys(std::vector<std::uint64_t> placed);
  std::shared_ptr<const std::vector<std::uint64_t>> values_;
  bool dense_ = false;
};

// How a request ended.
struct Answer {
  Status status;
  Rows rows;                        // Pull: dim floats a key.
  std::vector<std::uint64_t> keys;  // Scan: the placed keys of `rows`.
  bool late = false;                // Pull: the step has closed, and a push to it would be dropped.
};

struct Completion;  // How a store ends a request: its own affair.

// A request under way, for a task to await; outside tasks there is BlockingStore. One waiter.
class [[nodiscard]] Pending {
 public:
  // Of a coroutine that may be destroyed while it waits: it is resumed no more then.
  class Waiting {
   public:
    explicit Waiting(std::shared_ptr<Completion> completion) : completion_(std::move(completion)) {}
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting();
    bool await_ready() const;
    void await_suspend(std::coroutine_handle<> waiter);
    Answer await_resume();

   private:
    std::shared_ptr<Completion> completion_;
    bool waits_ = false;
  };
  Waiting operator co_await() const { return Waiting(completion_); }
  bool done() const;
  Answer take();        // Once it is done; kUsage before.
  void forget() const;  // A failed request also fails advance(), so its answer need not be awaited.

 private:
  friend struct Completion;
  explicit Pending(std::shared_ptr<Completion> completion) : completion_(std::move(completion)) {}

  std::shared_ptr<Completion> completion_;
};

// What went between data shards.
struct Exchanged {
  std::uint64_t bytes_sent = 0;
  std::chrono::nanoseconds waited{0};
};

// One data shard's handle; used by one task at a time. Requests return at once and end in a Status:
// kTimeout (names who was waited for), kPeerLost, kRefused (the request is wrong), kAborted (the job
// stopped).
class Store {
 public:
  virtual ~Store() = default;
  virtual ShardId shard() const = 0;
  // The job asks its shards to end early: finish the step, end the epoch if one has begun, end
  // the work, and go to kLastBarrier. The heir of a shard is asked once it has done what was done before.
  virtual bool closing() const = 0;
  virtual Step step() const = 0;  // The step that the next push and pull belong to.
  // Adds `grads` (dim floats a key) to the step. At most one push a table and step; applied exactly once.
  virtual Pending push(TableId table, Keys keys, Rows grads) = 0;
  // Rows that reflect every push that the consistency mode covers, and all of this shard's own. Sync mode: at
  // most 256 different pulls a step, and none from a table after the step's push to it (kUsage).
  virtual Pending pull(TableId table, Keys keys) = 0;
  // As pull(), for looking only: nothing that is pushed depends on it.
  virtual Pending read(TableId table, Keys keys) = 0;
  // Tells how many rows the step's gradients are sums over, for algorithms that weigh shards by their data.
  virtual void learnt(std::uint64_t /*rows*/) {}
  // Tells what the program exchanged with other shards on a way of its own, and how long it waited for that,
  // for the job's numbers.
  virtual void exchanged(const Exchanged& /*more*/) {}
  // Ends the step; tables without a push count as pushed empty. Done when fewer than the window's steps are
  // unanswered, and pushes that a pull may wait for have left.
  virtual Pending advance() = 0;
  // Ends the epoch for this shard: it contributes nothing more to it. Done when all servers know.
  virtual Pending end_epoch() = 0;
  // Ends the work of this shard: it contributes nothing more and holds nobody back; step() is kEndOfWork.
  // Implies advance() when the step has a push. Done when all servers know.
  virtual Pending end_work() = 0;
  // Done when every data shard has come to this barrier.
  virtual Pending barrier(BarrierId id) = 0;
  // Hands `text` to the job's reporter, exactly once for each increasing `id`.
  virtual Pending report(ReportId id, std::string text) = 0;
  // Lets the other tasks of this node run. Fails once the shard is another worker's.
  virtual Pending yield() = 0;
};

// push(), advance(), then pull() of the same keys in the next step, in one round trip. The first failure, or
// the rows pulled.
Task<Answer> push_pull(Store& store, TableId table, Keys keys, Rows grads);

}  // namespace thalweg
