#include "client/collective/group_steps.h"

#include <utility>

#include "base/check.h"
#include "client/group/group_impl.h"

namespace thalweg {
namespace {

class BlockingSteps final : public GroupSteps {
 public:
  explicit BlockingSteps(Group& group) : GroupSteps(group.rank(), group.size()), group_(group) {}

 private:
  bool begin(const GroupCall& call) override {
    ended_ = group_.run(call);
    return true;
  }
  Group& group_;
};

}  // namespace

Status run_in_steps(Group& group, const GroupOperation& operation) {
  BlockingSteps steps(group);
  Task<Status> task = operation(steps);
  task.handle().resume();
  THALWEG_CHECK(task.done(), "a step that blocks has ended when it returns");
  return task.take();
}

StartedSteps::StartedSteps(std::uint32_t its_rank, std::uint32_t its_size, Plan plan,
                           const GroupOperation& operation, GroupJob& job)
    : GroupSteps(its_rank, its_size), plan_(std::move(plan)), job_(&job) {
  task_.emplace(operation(*this));
  task_->handle().resume();
}

bool StartedSteps::begin(const GroupCall& call) {
  ended_ = plan_(call, *job_);
  return !ended_.ok();
}

bool StartedSteps::next(GroupJob& job, Status& how) {
  job_ = &job;
  ended_ = std::move(how);
  std::exchange(waiter_, {}).resume();
  if (!over()) return true;
  how = ended();
  return false;
}

GroupWork StartedSeries::start(Group& group, const GroupOperation& operation, const RouteChoice& route) {
  return group.impl_->start(operation, route);
}
GroupWork StartedSeries::failed(Status status) { return Group::failed(std::move(status)); }
GroupWork StartedSeries::run_on_stage(Group& group, const GroupCall& call) {
  return group.impl_->start_in_turn(call);
}
Group StartedSeries::on_stage(std::unique_ptr<LiveFabric> fabric, std::uint32_t rank, std::uint32_t size,
                              GroupStage& stage) {
  return Group::Impl::make_root(std::move(fabric), rank, size, Duration::max(), &stage);
}

}  // namespace thalweg
