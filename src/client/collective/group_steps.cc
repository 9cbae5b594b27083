#include "client/collective/group_steps.h"

#include "base/check.h"

namespace thalweg {

Status BlockingSteps::run(Task<Status> task) {
  task.handle().resume();
  THALWEG_CHECK(task.done(), "a step that blocks has ended when it returns");
  return task.take();
}

bool BlockingSteps::begin(const GroupCall& call) {
  ended_ = group_.run(call);
  return true;
}

}  // namespace thalweg
