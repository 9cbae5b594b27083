// The Store of one data shard: what its program sees of the job. It holds what the program asks for until the
// worker takes it, and the worker tells it what has come of that while the program does not run.
#pragma once

#include <coroutine>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/completion.h"
#include "staleness/reached.h"
#include "thalweg/store.h"
#include "wire/messages.h"
#include "worker/store_call.h"

namespace thalweg {

class ShardStore final : public Store {
 public:
  // `job`: any of the job's maps; it outlives the store. `marks`: what former owners have done; the store
  // starts at marks.low.
  ShardStore(const wire::Map& job, ShardId shard, std::uint32_t owner_epoch, const Reached& marks);

  ShardId shard() const override { return shard_; }
  bool closing() const override;
  Step step() const override { return step_; }
  Pending push(TableId table, Keys keys, Rows grads) override;
  Pending pull(TableId table, Keys keys) override;
  Pending read(TableId table, Keys keys) override;
  Pending advance() override;
  Pending end_epoch() override;
  Pending end_work() override;
  Pending barrier(BarrierId id) override;
  Pending report(ReportId id, std::string text) override;
  Pending yield() override;
  void exchanged(const Exchanged& more) override {
    exchanged_.bytes_sent += more.bytes_sent;
    exchanged_.waited += more.waited;
  }
  // Says, once in effect, that the shard's program has ended well.
  Pending end_program();
  // All stored rows (with optimizer state) of one range of a table; Completion::keys names them.
  Pending scan(TableId table, RangeId range);
  // Of an observer, before it comes to kLoadedBarrier: the range begins with these rows. `keys` are placed
  // and ascend, of a dense table they are row numbers; each row has its state or not, all alike. kRefused:
  // the range has been pushed to.
  Pending load(TableId table, RangeId range, std::vector<std::uint64_t> keys, Rows rows);
  // Of an observer, once it has loaded all rows of the range: what else is known of it, as its server's cut
  // has it. kRefused: the range has been pushed to.
  Pending begin(TableId table, RangeId range, std::string state);
  // Before anything is asked of the shard: it goes on as if its former owners had done that, unless it knows
  // of more.
  void begin_with(const Reached& begun);
  // Number of stored rows of a sparse table, in Completion::keys[0].
  Pending count(TableId table);

  std::uint32_t owner_epoch() const { return owner_epoch_; }
  bool failed() const { return !failure_.ok(); }
  // How many steps this shard is past the oldest one that has an unanswered push.
  std::uint64_t steps_behind() const {
    return in_flight_.empty() ? 0 : ordinal_ - in_flight_.begin()->second.ordinal;
  }

  // For the worker, while the program does not run:
  // What the program has asked for since the last call.
  std::vector<StoreCall> take_calls() { return std::exchange(calls_, {}); }
  // That has left. Until then advance() halts the program, so that no push that a pull waits for is held back
  // by the work of the next step.
  void calls_sent() { release_advance(); }
  // What parts of the program that may go on since the last call wait for.
  std::vector<std::shared_ptr<Completion>> take_ready() { return std::exchange(ready_, {}); }
  // What it has exchanged since the last call.
  Exchanged take_exchanged() { return std::exchange(exchanged_, {}); }
  // A request of this shard has ended.
  void answer(Completion& completion, Answer answer);
  // Its program has read rows of this version, as FrameHeader has it, and its next push is computed on them.
  void note_read(TableId table, std::uint32_t version);
  // A push has ended; follows its answer.
  void push_done(Step step, const Status& status);
  // No request of this shard can succeed any more.
  void abort(const Status& status);
  const Status& failure() const { return failure_; }
  // What closing() is to go by.
  void set_job_closes(bool closes) { job_closes_ = closes; }
  // Since when its program does what it does now, and whether that is to wait for an answer.
  struct Doing {
    Instant since{};
    bool waits = false;
  };
  Doing& doing() { return doing_; }

 private:
  void push_empty(std::uint8_t flags);
  // Whether these keys can be asked of this table.
  Status check(TableId table, const Keys& keys) const;
  bool step_has_push() const;
  Pending end(std::uint8_t flags, Step next);
  void release_advance();
  Pending call(StoreCall call);

  const wire::Map& job_;
  ShardId shard_;
  std::uint32_t owner_epoch_;
  Step step_;
  Reached marks_;
  std::vector<bool> pushed_;         // By table: this step has its push.
  std::vector<std::uint32_t> read_;  // By table: the oldest version read since its last push.
  // Unanswered pushes of one step.
  struct InFlight {
    std::uint64_t ordinal = 0;  // Of the step, among all that this store has been through.
    std::uint32_t pushes = 0;
  };
  void count_push();
  const Status& stopped() const { return failure_.ok() ? refusals_.forgotten() : failure_; }
  std::map<Step, InFlight> in_flight_;
  std::uint64_t ordinal_ = 0;  // Of step_.
  std::shared_ptr<Completion> advancing_;
  std::shared_ptr<Completion> ending_;
  Status failure_;  // The first push that failed; sticky.
  Refusals refusals_;
  bool job_closes_ = false;
  Doing doing_;
  Exchanged exchanged_;
  std::vector<StoreCall> calls_;
  std::vector<std::shared_ptr<Completion>> ready_;  // Whose waiters may go on.
};

}  // namespace thalweg
