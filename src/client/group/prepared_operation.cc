// An operation whose plan, checks and memory are made once.
#include <cstring>
#include <memory_resource>
#include <optional>

#include "base/check.h"
#include "client/collective/reproducible_sum.h"
#include "client/group/group_impl.h"

namespace thalweg {

struct PreparedOperation::State {
  State(Group::Impl& its_group, const GroupCall& its_call) : group(its_group), asked(its_call) {}

  Status begin();
  Exchange& exchange_at(const GroupPlace& place);

  Group::Impl& group;
  GroupCall asked;  // But for its spans, which the job has.
  GroupJob job;
  std::pmr::unsynchronized_pool_resource memory;  // Of the exchange, which begins anew in the same.
  std::optional<Exchange> exchange;
  std::shared_ptr<GroupWork::State> work = std::make_shared<GroupWork::State>();
  bool started = false;
};

// What is the same each time is not looked at again.
Status PreparedOperation::State::begin() {
  if (group.links->birth.elsewhere()) return made_elsewhere("group");
  if (group.view->failed()) return group.view->failure();
  if (started && !work->ended()) {
    return {Code::kUsage, std::string(operation_name(asked.operation)) +
                              ": the prepared operation is under way; expected it to be waited for first"};
  }
  started = false;
  if (job.scratch)
    std::memcpy(job.scratch.get(), asked.in, job.call.count * job.call.arithmetic.element_bytes);
  job.call.sent = false;
  job.call.copies = CopyWay::kFetch;
  return ok_status();
}

Exchange& PreparedOperation::State::exchange_at(const GroupPlace& place) {
  if (exchange) {
    exchange->restart(place.sequence, place.first_channel);
  } else {
    exchange.emplace(job.call, *job.plan, group.rank, group.size, place.sequence, place.first_channel,
                     group.view->id(), &memory);
  }
  exchange->call().sent = job.call.sent;
  return *exchange;
}

Status PreparedOperation::run() {
  Group::Impl& group = state_->group;
  if (group.links->driver.on_own_thread()) return must_start();
  if (Status status = state_->begin(); !status.ok()) return status;
  GroupJob& job = state_->job;
  job.place = group.take_place(state_->asked, *job.plan, false);
  if (group.move_at_once(job.call, *job.plan, job.place) || group.sum_at_once(job.call, *job.plan, job.place))
    return ok_status();
  return group.drive(state_->exchange_at(job.place), *job.plan, job.place, job.timeout);
}

GroupWork PreparedOperation::start() {
  Group::Impl& group = state_->group;
  Status status = state_->begin();
  if (status.ok()) status = group.check_under_way(state_->asked.operation);
  if (!status.ok()) return Group::failed(std::move(status));
  GroupJob& job = state_->job;
  job.place = group.take_place(state_->asked, *job.plan, true);
  if (state_->work.use_count() > 1) state_->work = std::make_shared<GroupWork::State>();
  state_->work->begin_again();
  state_->started = true;
  group.links->driver.start(state_->exchange_at(job.place), job, state_->work);
  return GroupWork(state_->work);
}

Result<PreparedOperation> Group::prepare(const GroupCall& call) {
  if (is_reproducible_sum(call)) {
    return Status(Code::kUsage,
                  std::string(operation_name(call.operation)) +
                      ": a reproducible sum takes two operations; expected it to be run or started");
  }
  auto state = std::make_unique<PreparedOperation::State>(*impl_, call);
  if (Status status = impl_->prepare(call, state->job); !status.ok()) return status;
  state->job.view = impl_->view;
  state->job.rank = rank();
  state->asked.counts = state->asked.counts_out = {};
  state->asked.neighbours = {};
  return PreparedOperation(std::move(state));
}

PreparedOperation::PreparedOperation(std::unique_ptr<State> state) : state_(std::move(state)) {}
PreparedOperation::PreparedOperation(PreparedOperation&& other) noexcept = default;
PreparedOperation& PreparedOperation::operator=(PreparedOperation&& other) noexcept = default;
PreparedOperation::~PreparedOperation() {
  if (!state_ || !state_->started) return;
  THALWEG_CHECK(state_->work->ended() || !state_->group.links->driver.on_own_thread(),
                "a coroutine on the group's own thread must await a prepared operation before it goes");
  static_cast<void>(GroupWork(state_->work).wait());
}

}  // namespace thalweg
