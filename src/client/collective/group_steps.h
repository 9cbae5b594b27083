// The calls that make up one operation of a group, taken one after the other by a coroutine that need not
// know whether its caller blocks.
#pragma once

#include <coroutine>
#include <cstdint>

#include "thalweg/group.h"
#include "thalweg/status.h"
#include "thalweg/task.h"

namespace thalweg {

class GroupSteps {
 public:
  // How a call ended. What the call points to stays as it is until then.
  class Step {
   public:
    Step(GroupSteps& steps, const GroupCall& call) : steps_(steps), call_(call) {}
    bool await_ready() { return steps_.begin(call_); }
    void await_suspend(std::coroutine_handle<> waiter) { steps_.waiter_ = waiter; }
    Status await_resume() { return steps_.ended_; }

   private:
    GroupSteps& steps_;
    const GroupCall& call_;
  };

  GroupSteps(std::uint32_t its_rank, std::uint32_t its_size) : rank(its_rank), size(its_size) {}
  virtual ~GroupSteps() = default;
  GroupSteps(const GroupSteps&) = delete;
  GroupSteps& operator=(const GroupSteps&) = delete;

  Step take(const GroupCall& call) { return {*this, call}; }

  const std::uint32_t rank;
  const std::uint32_t size;

 protected:
  // Whether the call has ended, as ended_ says; else waiter_ is resumed when it has.
  virtual bool begin(const GroupCall& call) = 0;
  Status ended_;
  std::coroutine_handle<> waiter_;
};

// Each call on the caller's thread.
class BlockingSteps final : public GroupSteps {
 public:
  explicit BlockingSteps(Group& group) : GroupSteps(group.rank(), group.size()), group_(group) {}
  // Of a task that awaits nothing but steps of this.
  static Status run(Task<Status> task);

 private:
  bool begin(const GroupCall& call) override;
  Group& group_;
};

}  // namespace thalweg
