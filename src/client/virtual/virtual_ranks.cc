#include "client/virtual/virtual_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "base/check.h"
#include "client/collective/group_steps.h"
#include "client/group/group_driver.h"
#include "client/group/group_routes.h"
#include "exchange/plan/planner.h"
#include "exchange/plan/simulated_group.h"
#include "topology/network/sharing.h"

namespace thalweg {
namespace {

constexpr Picoseconds kPerNanosecond = 1000;
// Of moments: a network counts up to 2^63 picoseconds, of which what is under way may take some.
constexpr std::int64_t kMostNanoseconds = std::int64_t{90} * 24 * 3600 * 1'000'000'000;
// Where none is said: a byte takes less than the picosecond that is counted.
constexpr double kUnlimitedBytesPerSecond = 1e15;
constexpr std::align_val_t kMemoryAlignment{64};

Picoseconds picoseconds_at(Instant at) {
  return static_cast<Picoseconds>(std::clamp<std::int64_t>(at.ns, 0, kMostNanoseconds)) * kPerNanosecond;
}

Instant instant_at(Picoseconds at) {
  return {static_cast<std::int64_t>((at + kPerNanosecond - 1) / kPerNanosecond)};
}

// Nobody awaits it; its frame goes when it is over.
struct Unawaited {
  struct promise_type {
    Unawaited get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

}  // namespace

// One rank's streams, as a group wants them.
class VirtualRanks::RankFabric final : public LiveFabric {
 public:
  RankFabric(Fabric& streams, std::vector<RankPlace> places)
      : streams_(streams), places_(std::move(places)) {}
  ~RankFabric() override {
    for (std::byte* const each : memory_) ::operator delete(each, kMemoryAlignment);
  }

  std::size_t write(Link to, std::span<const Piece> pieces) override { return streams_.write(to, pieces); }
  Piece peek(Link from, std::size_t want) override { return streams_.peek(from, want); }
  void consume(Link from, std::size_t bytes) override { streams_.consume(from, bytes); }
  std::size_t read(Link from, std::byte* into, std::size_t size) override {
    return streams_.read(from, into, size);
  }
  void added(std::size_t bytes) override { streams_.added(bytes); }
  void wait(Instant) override {}
  void wake() override {}
  bool any_lost() override { return false; }
  Status peer_status(std::uint32_t) override { return ok_status(); }
  std::vector<RankPlace> places() const override { return places_; }
  Result<std::byte*> allocate(std::size_t size) override {
    memory_.push_back(static_cast<std::byte*>(::operator new(size, kMemoryAlignment)));
    std::memset(memory_.back(), 0, size);
    return memory_.back();
  }
  void deallocate(std::byte* memory) override {
    std::erase(memory_, memory);
    ::operator delete(memory, kMemoryAlignment);
  }

 private:
  Fabric& streams_;
  const std::vector<RankPlace> places_;
  std::vector<std::byte*> memory_;
};

class VirtualRanks::Rank final : public GroupStage, public GroupWaiter {
 public:
  Rank(VirtualRanks& all, std::uint32_t rank) : all_(all), rank_(rank) {}

  void start(GroupJob job, std::shared_ptr<GroupWork::State> state) override;
  void drop() override;
  RoutePlanner planner() override {
    return [all = &all_](Operation operation, std::uint64_t bytes) { return all->planned(operation, bytes); };
  }
  // In words; empty where nothing is under way.
  std::string waiting() const;
  Task<Status> wait(GroupWork work) override;
  // As far as streams and time allow.
  void advance();

 private:
  struct Running {
    GroupJob job;
    std::shared_ptr<GroupWork::State> state;
    Picoseconds begins = 0;
    std::unique_ptr<Exchange> exchange;  // Once it has begun.
  };
  bool may_begin(std::size_t number) const;
  bool advance_to_end(Running& running, Status& how);
  void finish(Running& running, Status how);
  Unawaited tell_end(GroupWork work, std::shared_ptr<Completion> completion);

  VirtualRanks& all_;
  const std::uint32_t rank_;
  std::vector<std::unique_ptr<Running>> running_;  // In the order in which they were started.
};

void VirtualRanks::Rank::start(GroupJob job, std::shared_ptr<GroupWork::State> state) {
  auto running = std::make_unique<Running>();
  running->begins = all_.moment();
  if (running->begins >= picoseconds_at(kNever)) {
    return state->end({Code::kUsage, "shards that talk to each other are simulated for 90 days at most"});
  }
  running->job = std::move(job);
  running->state = std::move(state);
  all_.streams_->alarm(rank_, running->begins);
  running_.push_back(std::move(running));
  ++all_.running_;
}

void VirtualRanks::Rank::drop() {
  std::vector<std::shared_ptr<GroupWork::State>> states;
  for (const auto& running : running_) states.push_back(running->state);
  all_.running_ -= running_.size();
  running_.clear();
  for (const auto& state : states) state->end({Code::kAborted, "the simulated rank has left"});
}

std::string VirtualRanks::Rank::waiting() const {
  if (running_.empty()) return {};
  const Running& first = *running_.front();
  if (first.exchange == nullptr)
    return fmt::format("rank {} has not begun {}", rank_, operation_name(first.job.call.operation));
  return fmt::format("rank {} waits in {} at {}", rank_, first.exchange->name(), first.exchange->waits_in());
}

bool VirtualRanks::Rank::may_begin(std::size_t number) const {
  const Running& running = *running_[number];
  if (running.begins > all_.network_->now()) return false;
  const auto goes_before = [&](const std::unique_ptr<Running>& other) {
    return other && other->job.view == running.job.view && other->job.place.shares_with(running.job.place);
  };
  return std::none_of(running_.begin(), running_.begin() + static_cast<std::ptrdiff_t>(number), goes_before);
}

// True when it has ended, with all calls that follow it.
bool VirtualRanks::Rank::advance_to_end(Running& running, Status& how) {
  GroupJob& job = running.job;
  for (;;) {
    if (running.exchange == nullptr) {
      running.exchange =
          std::make_unique<Exchange>(std::move(job.call), *job.plan, job.rank, job.ranks, job.place.sequence,
                                     job.place.first_channel, job.view->id());
    }
    if (!running.exchange->advance(job.view->fabric())) return false;
    how = running.exchange->status();
    job.view->add_sent(running.exchange->bytes_sent());
    all_.bytes_sent_ += running.exchange->bytes_sent();
    running.exchange.reset();
    if (!how.ok()) job.view->fail(how);
    if (!job.sequel || !job.sequel->next(job, how)) return true;
    ++job.place.sequence;
  }
}

void VirtualRanks::Rank::advance() {
  for (bool any = true; any;) {
    std::vector<std::pair<std::shared_ptr<GroupWork::State>, Status>> ended;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Status how;
      if (running_[i]->exchange == nullptr && !may_begin(i)) continue;
      if (!advance_to_end(*running_[i], how)) continue;
      ended.emplace_back(running_[i]->state, std::move(how));
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i--));
      --all_.running_;
    }
    for (auto& [state, how] : ended) state->end(std::move(how));
    any = !ended.empty();  // What ended may have let another begin, or begun it.
  }
}

Unawaited VirtualRanks::Rank::tell_end(GroupWork work, std::shared_ptr<Completion> completion) {
  Status how = co_await work;
  if (how.code() != Code::kAborted) all_.end(ShardId{rank_}, std::move(completion), std::move(how));
}

Task<Status> VirtualRanks::Rank::wait(GroupWork work) {
  if (work.done()) co_return work.wait();
  auto completion = std::make_shared<Completion>();
  tell_end(std::move(work), completion);
  const Answer answer = co_await Completion::pending(std::move(completion));
  co_return answer.status;
}

VirtualRanks::VirtualRanks(std::shared_ptr<const Topology> room, std::vector<std::uint32_t> endpoints,
                           VirtualWorld world)
    : room_(std::move(room)),
      endpoints_(std::move(endpoints)),
      world_(std::move(world)),
      network_(make_network(*room_, Sharing::kFifo)) {
  for (std::uint32_t rank = 0; rank < endpoints_.size(); ++rank)
    THALWEG_CHECK(endpoints_[rank] == rank, "ranks sit at the first of the room's, as plans lay them out");
  std::vector<std::uint32_t> with_clock = endpoints_;
  with_clock.push_back(endpoints_.front());
  streams_ = std::make_unique<SimulatedGroup>(*network_, with_clock);
  for (std::uint32_t rank = 0; rank < endpoints_.size(); ++rank)
    ranks_.push_back(std::make_unique<Rank>(*this, rank));
}

VirtualRanks::~VirtualRanks() = default;

// Ranks of one machine are said to be so, but to share no memory: what is read there would take no time.
std::vector<std::shared_ptr<ShardGroup>> VirtualRanks::groups(const RouteChoice& route) {
  const auto size = static_cast<std::uint32_t>(endpoints_.size());
  std::vector<RankPlace> places(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const std::uint32_t machine = room_->place(Level::kMachine, endpoints_[rank]);
    const auto same = [&](std::uint32_t endpoint) {
      return endpoint == endpoints_[rank] ||
             (machine != kNowhere && room_->place(Level::kMachine, endpoint) == machine);
    };
    const auto first = std::find_if(endpoints_.begin(), endpoints_.end(), same);
    places[rank].machine = static_cast<std::uint32_t>(first - endpoints_.begin());
    places[rank].memory = rank;
    places[rank].cores = size;
  }
  std::vector<std::shared_ptr<ShardGroup>> groups;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    groups.push_back(std::make_shared<ShardGroup>());
    ShardGroup& made = *groups.back();
    made.group = StartedSeries::on_stage(std::make_unique<RankFabric>(streams_->fabric(rank), places), rank,
                                         size, *ranks_[rank]);
    made.waiter = ranks_[rank].get();
    made.route = route;
    made.of_threads = true;
  }
  return groups;
}

// Servers would be ranks of their own.
const Plan& VirtualRanks::planned(Operation operation, std::uint64_t bytes) {
  const auto [place, is_new] = plans_.try_emplace({operation, bytes});
  if (!is_new) return place->second;
  Demand demand;
  demand.operation = operation;
  demand.bytes = std::max<std::uint64_t>(bytes, Demand::kElementBytes);
  demand.ranks = static_cast<std::uint32_t>(endpoints_.size());
  PlannerOptions options;
  options.takes = [](const Plan& plan) {
    return plan.servers == 0 && channels_of(plan) <= kChosenChannelsMax;
  };
  Result<Layout> chosen = choose_route(*room_, demand, {}, options);
  THALWEG_CHECK(chosen.ok(), "each operation has a route");
  place->second = std::move(chosen->plan);
  return place->second;
}

std::string VirtualRanks::waits() const {
  constexpr std::size_t kNamedMost = 4;
  std::string text;
  std::size_t named = 0, more = 0;
  for (const auto& rank : ranks_) {
    const std::string waiting = rank->waiting();
    if (waiting.empty()) continue;
    if (named == kNamedMost) {
      ++more;
      continue;
    }
    text += (named++ > 0 ? ", " : "") + waiting;
  }
  if (more > 0) text += fmt::format(" and {} more", more);
  return text;
}

Picoseconds VirtualRanks::moment() const {
  return goes_on_ ? network_->now() : std::max(network_->now(), picoseconds_at(world_.moment()));
}

void VirtualRanks::end(ShardId shard, std::shared_ptr<Completion> completion, Status how) {
  ended_ = true;
  world_.end(instant_at(network_->now()), shard, std::move(completion), std::move(how));
}

void VirtualRanks::go_on(Instant until) {
  if (running_ == 0) return;
  const auto clock = static_cast<std::uint32_t>(ranks_.size());
  const Picoseconds limit = picoseconds_at(until);
  if (until != kNever) streams_->alarm(clock, limit);
  goes_on_ = true;
  ended_ = false;
  std::uint32_t changed = 0;
  while (!ended_ && streams_->next(changed)) {
    if (changed != clock) {
      ranks_[changed]->advance();
    } else if (network_->now() >= limit) {
      break;
    }
  }
  goes_on_ = false;
}

std::shared_ptr<const Topology> star_room(std::uint32_t ranks, Duration latency, double bytes_per_second) {
  Room room;
  room.name = "star";
  const NodeIndex hub = room.add(NodeKind::kSwitch, "switch", {kNowhere, kNowhere, kNowhere});
  const double speed = bytes_per_second > 0 ? bytes_per_second : kUnlimitedBytesPerSecond;
  const auto latency_ns = static_cast<std::uint64_t>(latency.count());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const NodeIndex node =
        room.add(NodeKind::kDevice, fmt::format("worker{}", rank), {rank, kNowhere, kNowhere});
    room.ranks.push_back(node);
    room.cables.push_back({node, hub, {speed, latency_ns}, {speed, 0}});
  }
  auto made = Topology::make(std::move(room));
  THALWEG_CHECK(made.ok(), "ranks around a switch are one network");
  return std::make_shared<const Topology>(*std::move(made));
}

}  // namespace thalweg
