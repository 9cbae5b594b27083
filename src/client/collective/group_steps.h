// The calls that make up one operation of a group, taken one after the other by a coroutine that need not
// know whether its caller blocks.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "client/group/group_driver.h"
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

// Makes an operation, which awaits nothing but steps of these. Nothing that it makes points to it.
using GroupOperation = std::function<Task<Status>(GroupSteps& steps)>;

// Each call on the caller's thread.
Status run_in_steps(Group& group, const GroupOperation& operation);

// Each call on the group's thread, all of them in the place of one that was started.
class StartedSteps final : public GroupSteps, public GroupSequel {
 public:
  // OK, or why there cannot be such a call; it is in the job then.
  using Plan = std::function<Status(const GroupCall& call, GroupJob& job)>;
  // Goes up to the first call, which `job` then has, or to the end, if that comes first.
  StartedSteps(std::uint32_t its_rank, std::uint32_t its_size, Plan plan, const GroupOperation& operation,
               GroupJob& job);
  bool over() const { return task_->done(); }
  Status ended() { return task_->take(); }

  bool next(GroupJob& job, Status& how) override;

 private:
  bool begin(const GroupCall& call) override;

  const Plan plan_;
  GroupJob* job_ = nullptr;  // Of the next call.
  std::optional<Task<Status>> task_;
};

// Starts operations of several calls in a group.
class StartedSeries {
 public:
  // `route`: that its calls are given, if any.
  static GroupWork start(Group& group, const GroupOperation& operation, const RouteChoice& route);
  static GroupWork failed(Status status);
  // A group all of whose operations go to the stage, which outlives it.
  static Group on_stage(std::unique_ptr<LiveFabric> fabric, std::uint32_t rank, std::uint32_t size,
                        GroupStage& stage);
  // Of such a group: the call that run() would make, which the caller awaits before it makes another.
  static GroupWork run_on_stage(Group& group, const GroupCall& call);
};

}  // namespace thalweg
