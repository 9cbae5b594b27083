#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/group/group_threads_for_test.h"
#include "exchange/plan/plan.h"
#include "net/group/group_control.h"
#include "thalweg/group.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

// All of this program, to be counted. Inlined, one half of a pair looks like a mistake to the compiler.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
  std::abort();
}
// As the one above, lest one of a sanitizer's own gives what the delete below takes back.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return operator new(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace thalweg {
namespace {

constexpr std::uint32_t kPreparedRanks = 3;

// One rank's buffers of any operation.
struct PreparedBuffers {
  explicit PreparedBuffers(std::size_t count) : in(count * kPreparedRanks), out(count * kPreparedRanks) {}
  void fill(std::uint32_t rank, int round) {
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<float>(i) + 0.3f * static_cast<float>(rank) + 100.0f * static_cast<float>(round);
    out.assign(out.size(), -1.0f);
  }
  std::vector<float> in, out;
};

struct Shape {
  Operation operation;
  bool in_place = false;
  const char* route = nullptr;
};

std::string name_of(const Shape& shape) {
  return std::string(operation_name(shape.operation)) + (shape.in_place ? " in place" : "") +
         (shape.route ? std::string(" by ") + shape.route : "");
}

constexpr Shape kShapes[] = {
    {Operation::kAllReduce},
    {Operation::kAllReduce, true},
    {Operation::kAllReduce, false, "ring"},
    {Operation::kAllReduce, true, "double-tree"},
    {Operation::kReduce},
    {Operation::kReduceScatter},
    {Operation::kReduceScatter, true},
    {Operation::kAllGather},
    {Operation::kAllGather, true},
    {Operation::kBroadcast, true},
    {Operation::kGather},
    {Operation::kScatter},
    {Operation::kAllToAll},
    {Operation::kAllToAll, true},
    {Operation::kBarrier},
    {Operation::kNeighbours},
    {Operation::kPointToPoint},
};

// `neighbours` and `counts` are of the caller, and need not outlive the preparation.
GroupCall call_of(const Group& group, const Shape& shape, PreparedBuffers& b, std::size_t count,
                  std::vector<std::uint32_t>& neighbours, std::vector<std::size_t>& counts) {
  GroupCall call = Group::typed<float>(shape.operation, b.in.data(), b.out.data(), count * kPreparedRanks);
  const Group::Part own = group.own_part(call.count);
  call.root = 1;
  if (shape.route) call.route = *RouteChoice::named(shape.route);
  if (shape.in_place) call.out = b.in.data();
  switch (shape.operation) {
    case Operation::kReduceScatter:
      if (shape.in_place) call.out = b.in.data() + own.begin;
      break;
    case Operation::kAllGather:
      counts.assign(kPreparedRanks, count);
      call.counts = counts;
      if (shape.in_place) call.in = b.in.data() + own.begin;
      break;
    case Operation::kNeighbours:
      neighbours = {(group.rank() + 1) % kPreparedRanks};
      if (group.rank() == 2) neighbours = {};
      if (group.rank() == 1) neighbours = {0};
      call.neighbours = neighbours;
      break;
    case Operation::kPointToPoint:
      call.root = 0;
      call.peer = 1;
      break;
    default:
      break;
  }
  return call;
}

// Prepared at some ranks and called at the others, run and started, again and again with other data.
std::string goes_as_the_call(Group& group, std::size_t count, bool started) {
  for (const Shape& shape : kShapes) {
    if (shape.operation == Operation::kPointToPoint && group.rank() == 2) continue;
    PreparedBuffers called(count), done(count);
    std::vector<std::uint32_t> neighbours, same_neighbours;
    std::vector<std::size_t> counts, same_counts;
    const GroupCall call = call_of(group, shape, called, count, neighbours, counts);
    auto prepared = group.prepare(call_of(group, shape, done, count, same_neighbours, same_counts));
    if (!prepared) return name_of(shape) + ": " + prepared.status().message();
    same_neighbours.assign(9, 77);
    same_counts.assign(9, 77);
    for (int round = 0; round < 4; ++round) {
      called.fill(group.rank(), round);
      done.fill(group.rank(), round);
      Status status = started ? group.start(call).wait() : group.run(call);
      if (!status.ok()) return name_of(shape) + ": " + status.message();
      if (round == 3 && group.rank() == 1) {  // This one calls what the others have prepared.
        called.fill(group.rank(), round);
        status = started ? group.start(call).wait() : group.run(call);
        if (!status.ok()) return name_of(shape) + ": " + status.message();
        continue;
      }
      status = started ? prepared->start().wait() : prepared->run();
      if (!status.ok()) return name_of(shape) + ", prepared: " + status.message();
      if (called.in != done.in || called.out != done.out) return name_of(shape) + ": another result";
    }
  }
  return {};
}

TEST(PreparedOperation, GoesAsTheCallDoes) {
  for (const std::size_t count : {1, 200, 30'000}) {
    for (const bool started : {false, true}) {
      const auto body = [&](Group& group) { return goes_as_the_call(group, count, started); };
      EXPECT_EQ(on_threads(kPreparedRanks, body), "") << count << started;
      EXPECT_EQ(on_joined(kPreparedRanks, GroupTransport::kShm, body), "") << count << started;
    }
  }
}

TEST(PreparedOperation, GoesOnceAtATimeAndWaits) {
  const auto body = [](Group& group) -> std::string {
    std::vector<float> data(100, 1.0f);
    auto prepared = group.prepare(Group::typed<float>(Operation::kAllReduce, data.data(), data.data(), 100));
    if (!prepared) return prepared.status().message();
    if (group.rank() == 0) {
      GroupWork first = prepared->start();
      if (prepared->run().code() != Code::kUsage) return "goes twice at a time";
      if (prepared->start().wait().code() != Code::kUsage) return "starts twice at a time";
      if (Status s = group.barrier(); !s.ok()) return s.message();
      if (Status s = first.wait(); !s.ok()) return s.message();
    } else {
      if (Status s = group.barrier(); !s.ok()) return s.message();
      if (Status s = prepared->start().wait(); !s.ok()) return s.message();
    }
    {
      PreparedOperation moved = *std::move(prepared);
      static_cast<void>(moved.start());
    }  // Waits.
    return data[99] == 4.0f ? "" : "was not waited for";
  };
  EXPECT_EQ(on_threads(2, body), "");
}

TEST(PreparedOperation, IsRefusedAsTheCallIs) {
  const auto body = [](Group& group) -> std::string {
    std::vector<float> data(1000);
    const std::size_t count = group.rank() == 2 ? 7 : 1000;
    auto prepared =
        group.prepare(Group::typed<float>(Operation::kAllReduce, data.data(), data.data(), count));
    if (!prepared) return prepared.status().message();
    Status status = prepared->run();
    if (status.ok()) status = prepared->run();
    if (status.code() != Code::kRefused) return "ended: " + status.message();
    if (status.message().find("rank 2 calls") == std::string::npos)
      return "does not tell: " + status.message();
    return prepared->run().code() == Code::kRefused && !prepared->start().wait().ok() ? "" : "goes on";
  };
  EXPECT_EQ(on_threads(kPreparedRanks, body), "");
  std::vector<Group> groups = Group::in_process(1);
  std::vector<float> data(4);
  GroupCall call = Group::typed<float>(Operation::kAllReduce, nullptr, data.data(), 4);
  EXPECT_EQ(groups[0].prepare(call).status().message(), "all-reduce: `in` is null");
  call = Group::typed<float>(Operation::kAllReduce, data.data(), data.data(), 4, Reduction::kReproducibleSum);
  EXPECT_EQ(groups[0].prepare(call).status().code(), Code::kUsage);
}

// Of all ranks, once they have done it a few times. `late`: rank 0 once lets the others wait for so long that
// they look at what it calls.
std::uint64_t allocations_of(const Shape& shape, std::size_t count, bool prepares, bool late = false) {
  constexpr int kRounds = 50;
  std::atomic<std::uint64_t> counted{0};
  const auto body = [&](Group& group) -> std::string {
    PreparedBuffers b(count);
    std::vector<std::uint32_t> neighbours;
    std::vector<std::size_t> counts;
    b.fill(group.rank(), 0);
    const bool takes_part = shape.operation != Operation::kPointToPoint || group.rank() < 2;
    const GroupCall call = call_of(group, shape, b, count, neighbours, counts);
    auto barrier = group.prepare(Group::typed<float>(Operation::kBarrier, nullptr, nullptr, 0));
    std::optional<PreparedOperation> prepared;
    if (takes_part) prepared.emplace(*group.prepare(call));
    std::uint64_t before = 0;
    for (int round = 0; round < 2 * kRounds; ++round) {
      if (Status s = barrier->run(); !s.ok()) return s.message();
      if (round == kRounds) {
        before = allocations.load();
        if (Status s = barrier->run(); !s.ok()) return s.message();
      }
      if (late && round == kRounds + 1 && group.rank() == 0)
        std::this_thread::sleep_for(2 * GroupControl::kTellEvery);
      const Status status = !takes_part ? ok_status() : prepares ? prepared->run() : group.run(call);
      if (!status.ok()) return status.message();
    }
    if (Status s = barrier->run(); !s.ok()) return s.message();
    if (group.rank() == 0) counted = allocations.load() - before;
    if (Status s = barrier->run(); !s.ok()) return s.message();  // The others do nothing meanwhile.
    return {};
  };
  EXPECT_EQ(on_threads(kPreparedRanks, body), "") << name_of(shape);
  return counted;
}

// Lanes that keep lists of ranks make these anew.
bool keeps_lists(const Shape& shape) {
  const Operation operation = shape.operation;
  return operation == Operation::kReduce || operation == Operation::kBroadcast ||
         operation == Operation::kGather || operation == Operation::kScatter ||
         operation == Operation::kNeighbours || (shape.route && std::string(shape.route) == "double-tree");
}

TEST(PreparedOperation, AllocatesNothingOnceItHasRun) {
  for (const Shape& shape : kShapes) {
    for (const std::size_t count : {1, 3000}) {
      const std::uint64_t prepared = allocations_of(shape, count, true);
      if (keeps_lists(shape)) {
        EXPECT_LE(prepared, allocations_of(shape, count, false)) << name_of(shape) << count;
      } else {
        EXPECT_EQ(prepared, 0u) << name_of(shape) << count;
      }
    }
  }
}

TEST(PreparedOperation, AllocatesNothingWhereARankIsLate) {
  for (const Shape& shape : {Shape{Operation::kAllReduce}, Shape{Operation::kAllToAll, true}})
    EXPECT_EQ(allocations_of(shape, 3000, true, true), 0u) << name_of(shape);
}

}  // namespace
}  // namespace thalweg
