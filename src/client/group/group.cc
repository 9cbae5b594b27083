#include "thalweg/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/check.h"
#include "base/random.h"
#include "client/collective/reproducible_sum.h"
#include "client/group/group_call.h"
#include "client/group/group_impl.h"
#include "exchange/block.h"
#include "exchange/costs/costs_file.h"
#include "net/group/form_group.h"
#include "net/in_process/in_process_fabric.h"

namespace thalweg {

bool GroupWork::done() const { return state_->ended(); }

Status GroupWork::wait() {
  if (!done() && state_->birth.elsewhere()) return made_elsewhere("group");
  if (!done() && GroupDriver::is_of_this_thread(state_->driver)) return must_start();
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->ended(); });
  return state_->status;
}

bool GroupWork::await_suspend(std::coroutine_handle<> waiter) {
  const std::lock_guard lock(state_->mutex);
  if (state_->ended()) return false;
  state_->waiter = waiter;
  return true;
}

Status GroupWork::await_resume() { return state_->status; }

namespace {

// A coroutine that nobody awaits; its frame goes when it is over.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

// Outlives its caller's frame, so it owns what it uses.
Detached report_end(Task<Status> program, std::shared_ptr<GroupWork::State> state) {
  Status status = co_await program;
  state->end(std::move(status));
}

}  // namespace

Group Group::Impl::make_root(std::unique_ptr<LiveFabric> fabric, std::uint32_t rank, std::uint32_t size,
                             Duration timeout, GroupStage* stage,
                             std::shared_ptr<const MeasuredRoutes> measured) {
  if (!measured) measured = std::make_shared<const MeasuredRoutes>();
  auto links = std::make_shared<GroupLinks>(std::move(fabric), stage, std::move(measured));
  auto view = std::make_shared<GroupView>(links->driver.fabric(), std::vector<std::uint32_t>{}, size,
                                          std::uint16_t{0}, std::uint64_t{0});
  return Group(std::make_unique<Impl>(std::move(links), std::move(view), rank, size, timeout));
}

std::vector<RankPlace> Group::Impl::places_of(GroupLinks& links, const GroupView& view, std::uint32_t size) {
  const std::vector<RankPlace> all = links.driver.fabric().places();
  std::vector<RankPlace> places;
  for (std::uint32_t rank = 0; rank < size; ++rank) places.push_back(all[view.fabric_rank(rank)]);
  return places;
}

// The choice is made by the whole vector's size, which all ranks know alike.
Status Group::Impl::prepare(const GroupCall& asked, Call& call, const Plan*& plan,
                            std::shared_ptr<std::byte[]>& scratch) {
  const std::lock_guard lock(planning_);
  if (links->birth.elsewhere()) return made_elsewhere("group");
  if (view->failed()) return view->failure();
  if (Status status = make_call(asked, rank, size, call); !status.ok()) return status;
  const std::size_t element = call.arithmetic.element_bytes;
  const bool to_all = call.operation == Operation::kAllToAll;
  const bool in_order = combines(call.operation) && call.arithmetic.is_ordered();
  if (const auto& chosen = RoutePlans::behind(asked.route)) {
    const auto plans = routes_.shape(chosen);
    if (!plans) return plans.status();
    plan = &(*plans)->of(element);
    if (Status status = check_choice(*plans, *plan, call.operation); !status.ok()) return status;
    if (in_order && size > 1) {
      if (Status status = check_order(*plan, call.operation); !status.ok()) return status;
    }
  } else {
    plan = &routes_.choose(call.operation, to_all ? 0 : call.count * element, element, in_order);
  }
  const bool serves = call.operation == Operation::kAllReduce && rank >= size - plan->servers;
  if (Status status = check_buffers(asked, call, rank, serves); !status.ok()) return status;
  const Block own = !has_parts(call.operation) ? Block{}
                    : call.parts.empty()       ? part_of({0, call.count}, size, rank)
                                         : Block{call.parts[rank], call.parts[rank + 1] - call.parts[rank]};
  const std::size_t out_count = call.operation == Operation::kNeighbours ? call.count * call.neighbours.size()
                                : call.parts_out.empty()                 ? call.count
                                                                         : call.parts_out.back();
  if (Status status = check_overlap(asked, rank, {element, own, call.count, out_count}); !status.ok())
    return status;
  if (to_all && call.in == call.out && call.count > 0) {  // What comes in would overwrite what goes out.
    scratch.reset(new std::byte[call.count * element]);
    std::memcpy(scratch.get(), call.in, call.count * element);
    call.in = scratch.get();
  }
  return ok_status();
}

Status Group::Impl::check_choice(const std::shared_ptr<const RoutePlans>& plans, const Plan& plan,
                                 Operation operation) {
  if (channels_of(plan) > GroupChannels::kOneMax) {
    return {Code::kUsage, fmt::format("route {} takes {} channels; expected at most {}", plan.name(),
                                      channels_of(plan), GroupChannels::kOneMax)};
  }
  if (checked_ == plans && checked_operation_ == operation) return ok_status();
  if (Status status = check_plan(plan, operation, size); !status.ok()) return status;
  checked_ = plans;
  checked_operation_ = operation;
  return ok_status();
}

namespace {

// Sequences of operations.
enum Kind : std::uint64_t { kBlocking, kStarted, kPointToPoint };
// Numbers that it takes: more than it has calls.
constexpr std::uint64_t kSeriesCallsMax = 64;

}  // namespace

GroupPlace Group::Impl::take_place(const GroupCall& asked, const Plan& plan, bool started) {
  const auto kind = [this](std::uint64_t which) { return splitmix(view->id() ^ which); };
  if (asked.operation == Operation::kPointToPoint) {
    const bool sends = asked.root == rank;
    const std::uint32_t other = sends ? asked.peer : asked.root;
    const std::uint64_t way = std::uint64_t{asked.root} << 32 | asked.peer;
    std::uint64_t& count = sends ? sent_[other] : received_[other];
    return {kind(kPointToPoint + (way << 2)), count++, GroupChannels::kPointToPoint, 1,
            1 + 2 * std::uint64_t{other} + (sends ? 1 : 0)};
  }
  if (!started) return {kind(kBlocking), blocking_++, GroupChannels::kBlocking, GroupChannels::kOneMax, 0};
  return take_started_place(channels_of(plan), 1);
}

// All ranks start the same operations by the same plans, and so come to the same channels.
GroupPlace Group::Impl::take_started_place(std::uint32_t channels, std::uint64_t calls) {
  if (next_channel_ + channels > GroupChannels::kStartedAll) next_channel_ = 0;
  const auto first = static_cast<std::uint16_t>(GroupChannels::kStarted + next_channel_);
  next_channel_ = static_cast<std::uint16_t>(next_channel_ + channels);
  const std::uint64_t number = std::exchange(started_, started_ + calls);
  return {splitmix(view->id() ^ kStarted), number, first, static_cast<std::uint16_t>(channels), 0};
}

Status Group::Impl::run(const GroupCall& asked) {
  if (links->driver.on_own_thread()) return must_start();
  Call call;
  const Plan* plan = nullptr;
  std::shared_ptr<std::byte[]> scratch;
  if (Status status = prepare(asked, call, plan, scratch); !status.ok()) return status;
  const GroupPlace place = take_place(asked, *plan, false);
  if (move_at_once(call, *plan, place) || sum_at_once(call, *plan, place)) return ok_status();
  Exchange exchange(std::move(call), *plan, rank, size, place.sequence, place.first_channel, view->id());
  return drive(exchange, *plan, place, timeout_of(asked));
}

Status Group::Impl::drive(Exchange& exchange, const Plan& plan, const GroupPlace& place,
                          Duration its_timeout) {
  const CopyTuner::Trial trial = view->begin_copies(exchange.call(), plan, rank);
  exchange.call().copies = trial.way;
  Status status = links->driver.run(exchange, view, place, its_timeout);
  if (!status.ok()) give_up(*view, place, status);
  view->end_copies(trial, exchange);
  return status;
}

// A short message that finds room, or is there, needs no exchange that goes on later.
constexpr std::size_t kShortBytes = 4096;

bool Group::Impl::move_at_once(const Call& call, const Plan& plan, const GroupPlace& place) {
  const std::size_t bytes = call.count * call.arithmetic.element_bytes;
  if (call.operation != Operation::kPointToPoint || bytes == 0 || bytes > kShortBytes) return false;
  const PrefaceOf preface{rank, preface_of(call.operation, call, plan, {size, place.sequence, view->id()})};
  if (call.root == rank)
    return links->driver.send_at_once(*view, place, preface, call.peer, {call.in, bytes});
  return links->driver.receive_at_once(*view, place, preface.preface, call.root, call.out, bytes);
}

// Nor does a short sum of two ranks whose messages find room and come soon; else it is known what was sent.
bool Group::Impl::sum_at_once(Call& call, const Plan& plan, const GroupPlace& place) {
  const Arithmetic& how = call.arithmetic;
  const std::size_t bytes = call.count * how.element_bytes;
  if (size != 2 || call.operation != Operation::kAllReduce || bytes == 0 || bytes > kShortBytes) return false;
  if (plan.route != &routes::kRecursiveDoubling || plan.channels != 1) return false;
  if (plan.piece_elements > 0 && plan.piece_elements < call.count) return false;
  if (how.monoid.combine || how.reduction == Reduction::kReproducibleSum) return false;
  const PrefaceOf preface{rank, preface_of(call.operation, call, plan, {size, place.sequence, view->id()})};
  const GroupDriver::Sum sum = links->driver.sum_at_once(*view, place, preface, call);
  call.sent = sum == GroupDriver::Sum::kSent;
  return sum == GroupDriver::Sum::kDone;
}

Status Group::Impl::prepare(const GroupCall& asked, GroupJob& job) {
  job.call = {};
  if (Status status = prepare(asked, job.call, job.plan, job.scratch); !status.ok()) return status;
  const std::lock_guard lock(planning_);
  if (const auto& chosen = RoutePlans::behind(asked.route)) job.plan_owner = *routes_.shape(chosen);
  job.timeout = timeout_of(asked);
  return ok_status();
}

GroupWork Group::Impl::start(const GroupCall& asked) { return start(asked, false); }
GroupWork Group::Impl::start_in_turn(const GroupCall& asked) { return start(asked, true); }

GroupWork Group::Impl::start(const GroupCall& asked, bool in_turn) {
  GroupJob job;
  Status status = prepare(asked, job);
  if (status.ok()) status = check_under_way(asked.operation);
  if (!status.ok()) return failed(std::move(status));
  job.place = take_place(asked, *job.plan, !in_turn);
  return launch(std::move(job));
}

GroupWork Group::Impl::start(const GroupOperation& operation, const RouteChoice& route) {
  GroupJob job;
  const auto plan = [this](const GroupCall& asked, GroupJob& its) {
    Status status = prepare(asked, its);
    THALWEG_CHECK(!status.ok() || !its.sequel || channels_of(*its.plan) <= its.place.channels,
                  "the calls of an operation share its channels");
    return status;
  };
  auto steps = std::make_shared<StartedSteps>(rank, size, plan, operation, job);
  if (steps->over()) return failed(steps->ended());
  if (Status status = check_under_way(job.call.operation); !status.ok()) return failed(std::move(status));
  job.place = take_started_place(series_channels(route, *job.plan), kSeriesCallsMax);
  job.sequel = std::move(steps);
  return launch(std::move(job));
}

// Channels that an operation of several calls keeps until its end, where no route of its caller's takes more.
std::uint32_t Group::Impl::series_channels(const RouteChoice& route, const Plan& first) {
  std::uint32_t channels = std::max(kChosenChannelsMax, channels_of(first));
  if (const auto& chosen = RoutePlans::behind(route)) {
    const std::lock_guard lock(planning_);
    if (const auto shaped = routes_.shape(chosen))
      channels = std::max(channels, channels_of((*shaped)->of(1)));
  }
  return std::min<std::uint32_t>(channels, GroupChannels::kOneMax);
}

Status Group::Impl::check_under_way(Operation operation) const {
  if (view->under_way.load() < kStartedMax) return ok_status();
  return {Code::kRetry,
          fmt::format("{}: {} operations that were started in this group are under way; expected at "
                      "most {}: wait for one of them",
                      operation_name(operation), view->under_way.load(), kStartedMax)};
}

GroupWork Group::Impl::launch(GroupJob job) {
  job.view = view;
  job.rank = rank;
  job.ranks = size;
  auto state = std::make_shared<GroupWork::State>();
  links->driver.start(std::move(job), state);
  return GroupWork(std::move(state));
}

Group::Group(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Group::Group(Group&& other) noexcept = default;
Group& Group::operator=(Group&& other) noexcept = default;
Group::~Group() = default;

namespace {

Result<MachineFigures> read_costs_file(const std::string& path) {
  if (path.empty()) return MachineFigures{};
  std::ifstream file(path, std::ios::binary);
  std::string text(kCostsBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.empty() && !file.eof())
    return Status(Code::kConfig, path + ": cannot be read; expected a file of thalweg topo bench --costs");
  return parse_costs(text, path);
}

}  // namespace

Result<Group> Group::join(const GroupOptions& options) {
  Result<MachineFigures> figures = read_costs_file(options.costs_file);
  if (!figures) return figures.status();
  auto fabric = form_group(options, figures->costs, figures->routes.digest());
  if (!fabric) return fabric.status();
  return Impl::make_root(*std::move(fabric), options.rank, options.size, options.timeout, nullptr,
                         std::make_shared<const MeasuredRoutes>(std::move(figures->routes)));
}

std::vector<Group> Group::in_process(std::uint32_t size, std::chrono::nanoseconds timeout) {
  std::vector<Group> groups;
  auto fabrics = make_in_process_fabrics(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    groups.push_back(Impl::make_root(std::move(fabrics[rank]), rank, size, timeout));
  }
  return groups;
}

std::uint32_t Group::rank() const { return impl_->rank; }
std::uint32_t Group::size() const { return impl_->size; }
std::uint64_t Group::bytes_sent() const { return impl_->view->bytes_sent(); }
bool Group::has_time_to_overlap() const { return impl_->routes().have_time_to_overlap(); }
Status Group::status() const { return impl_->view->failure(); }

Result<Group> Group::regroup() {
  if (impl_->links->birth.elsewhere()) return made_elsewhere("group");
  impl_->links->driver.drain();
  auto* processes = dynamic_cast<ProcessGroup*>(&impl_->links->driver.fabric());
  if (!processes) return Status(Code::kUsage, "threads of one process form no group anew");
  Result<std::unique_ptr<ProcessGroup>> anew = processes->regroup(impl_->timeout);
  if (!anew) return anew.status();
  const std::uint32_t its_rank = (*anew)->rank(), its_size = (*anew)->size();
  return Impl::make_root(*std::move(anew), its_rank, its_size, impl_->timeout, nullptr,
                         impl_->links->measured);
}

Group::Part Group::part(std::size_t count, std::uint32_t rank) const {
  const Block block = part_of({0, count}, impl_->size, rank);
  return {block.begin, block.count};
}

Status Group::run(const GroupCall& call) {
  return is_reproducible_sum(call) ? run_reproducible_sum(*this, call) : impl_->run(call);
}
Status Group::run(Task<Status> program) {
  if (impl_->links->driver.on_own_thread()) return must_start();
  auto state = std::make_shared<GroupWork::State>();
  report_end(std::move(program), state);
  return GroupWork(std::move(state)).wait();
}

GroupWork Group::start(const GroupCall& call) {
  return is_reproducible_sum(call) ? start_reproducible_sum(*this, call) : impl_->start(call);
}

namespace {

GroupCall barrier_call() {
  GroupCall call;
  call.operation = Operation::kBarrier;
  return call;
}

Task<Status> call_and_then(GroupSteps& steps, GroupCall call, std::function<void()> then) {
  Status status = co_await steps.take(call);
  if (status.ok()) then();
  co_return status;
}

}  // namespace

Status Group::barrier() { return run(barrier_call()); }
GroupWork Group::barrier_async() { return start(barrier_call()); }

GroupWork Group::start(const GroupCall& call, const std::function<void()>& then) {
  return impl_->start([&](GroupSteps& steps) { return call_and_then(steps, call, then); }, call.route);
}

Status Group::unequal(const char* operation, std::size_t expected, std::size_t found) {
  return {Code::kUsage, fmt::format("{}: a buffer has {} elements; expected {}", operation, found, expected)};
}

Status Group::check_counts(Operation operation, std::span<const std::size_t> counts,
                           std::size_t whole) const {
  return thalweg::check_counts(operation, counts, size(), whole);
}

GroupWork Group::failed(Status status) {
  auto state = std::make_shared<GroupWork::State>();
  state->end(std::move(status));
  return GroupWork(std::move(state));
}

Result<void*> Group::allocate_bytes(std::size_t bytes) {
  if (impl_->links->birth.elsewhere()) return made_elsewhere("group");
  if (bytes > kVectorBytesMax) {
    return Status(Code::kIo, fmt::format("no {} bytes or more of group memory; expected at most {}", bytes,
                                         kVectorBytesMax));
  }
  const std::lock_guard lock(impl_->links->memory);
  Result<std::byte*> memory = impl_->links->driver.fabric().allocate(bytes);
  if (!memory) return memory.status();
  return static_cast<void*>(*memory);
}

void Group::free(void* memory) {
  if (impl_->links->birth.elsewhere()) return;
  const std::lock_guard lock(impl_->links->memory);
  if (memory) impl_->links->driver.fabric().deallocate(static_cast<std::byte*>(memory));
}

}  // namespace thalweg
