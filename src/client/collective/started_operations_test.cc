// Each operation that can be called can be started: side by side with others, it ends with the same.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/group/group_threads_for_test.h"
#include "thalweg/group.h"
#include "thalweg/top_k.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kRanks = 3;
constexpr std::size_t kStartedCount = 24;

std::vector<float> vector_of(std::size_t count, std::uint32_t rank) {
  std::vector<float> made(count);
  for (std::size_t i = 0; i < count; ++i)
    made[i] = 0.1f * static_cast<float>(i + 1) + 0.7f * static_cast<float>(rank);
  return made;
}

// The buffers of one operation, which each way of calling has of its own.
struct StartedBuffers {
  explicit StartedBuffers(std::uint32_t rank)
      : in(vector_of(kStartedCount, rank)),
        out(kStartedCount),
        gathered(kStartedCount * kRanks),
        part(kStartedCount / kRanks),
        number(1),
        beside({(rank + 1) % kRanks, (rank + kRanks - 1) % kRanks}),
        of_beside(2 * kStartedCount),
        mixed(in),
        keys({rank, 10, 20 + std::uint64_t{rank}}),
        rows(vector_of(6, rank)),
        pairs({{rank, 1.0f + static_cast<float>(rank)}, {7, 0.5f}, {}}) {
    vectors = {in.data(), mixed_too.data()};
  }
  std::vector<float> in, out, gathered, part, number;
  std::vector<std::uint32_t> beside;
  std::vector<float> of_beside, mixed;
  std::vector<std::uint64_t> keys;
  std::vector<float> rows;
  SparseRows sum;
  std::vector<TopKPair> pairs;
  std::vector<float> mixed_too = std::vector<float>(kStartedCount, 0.25f);
  std::vector<const float*> vectors;
  std::vector<float> weights = {0.25f, 0.125f};

  bool operator==(const StartedBuffers& other) const {
    const auto same = [](const std::vector<TopKPair>& a, const std::vector<TopKPair>& b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof(TopKPair)) == 0;
    };
    return out == other.out && gathered == other.gathered && part == other.part && number == other.number &&
           of_beside == other.of_beside && mixed == other.mixed && sum.keys == other.sum.keys &&
           sum.rows == other.sum.rows && same(pairs, other.pairs);
  }
};

struct Form {
  const char* name;
  std::function<Status(Group& group, StartedBuffers& b)> run;
  std::function<GroupWork(Group& group, StartedBuffers& b)> start;
  std::function<GroupWork(Group& group, StartedBuffers& b)> start_too = nullptr;
};
using F = float;

const std::vector<Form>& forms() {
  static const std::vector<Form> kAll = {
      {"all_reduce", [](Group& g, StartedBuffers& b) { return g.all_reduce<F>(b.in, b.out); },
       [](Group& g, StartedBuffers& b) { return g.all_reduce_async<F>(b.in, b.out); }},
      {"weighted_mean",
       [](Group& g, StartedBuffers& b) { return g.weighted_mean<F>(b.in, b.out, 1.0 + g.rank()); },
       [](Group& g, StartedBuffers& b) { return g.weighted_mean_async<F>(b.in, b.out, 1.0 + g.rank()); }},
      {"reproducible_sum",
       [](Group& g, StartedBuffers& b) { return g.reproducible_sum<F>(b.vectors, std::span(b.out)); },
       [](Group& g, StartedBuffers& b) { return g.reproducible_sum_async<F>(b.vectors, std::span(b.out)); }},
      {"reproducible_reduction",
       [](Group& g, StartedBuffers& b) {
         return g.reduce_scatter<F>(b.in, b.part, Reduction::kReproducibleSum);
       },
       [](Group& g, StartedBuffers& b) {
         return g.reduce_scatter_async<F>(b.in, b.part, Reduction::kReproducibleSum);
       }},
      {"all_reduce_sparse",
       [](Group& g, StartedBuffers& b) { return g.all_reduce_sparse(b.keys, b.rows, 2, b.sum); },
       [](Group& g, StartedBuffers& b) { return g.all_reduce_sparse_async(b.keys, b.rows, 2, b.sum); }},
      {"all_reduce_top_k",
       [](Group& g, StartedBuffers& b) { return all_reduce_top_k(g, b.pairs, TopK::Same::kGreater); },
       [](Group& g, StartedBuffers& b) { return all_reduce_top_k_async(g, b.pairs, TopK::Same::kGreater); }},
      {"reduce", [](Group& g, StartedBuffers& b) { return g.reduce<F>(b.in, b.out, 1); },
       [](Group& g, StartedBuffers& b) { return g.reduce_async<F>(b.in, b.out, 1); }},
      {"reduce_scatter", [](Group& g, StartedBuffers& b) { return g.reduce_scatter<F>(b.in, b.part); },
       [](Group& g, StartedBuffers& b) { return g.reduce_scatter_async<F>(b.in, b.part); }},
      {"all_gather", [](Group& g, StartedBuffers& b) { return g.all_gather<F>(b.in, b.gathered); },
       [](Group& g, StartedBuffers& b) { return g.all_gather_async<F>(b.in, b.gathered); }},
      {"broadcast", [](Group& g, StartedBuffers& b) { return g.broadcast(std::span(b.mixed), 2); },
       [](Group& g, StartedBuffers& b) { return g.broadcast_async(std::span(b.mixed), 2); }},
      {"gather", [](Group& g, StartedBuffers& b) { return g.gather<F>(b.in, b.gathered, 1); },
       [](Group& g, StartedBuffers& b) { return g.gather_async<F>(b.in, b.gathered, 1); }},
      {"scatter", [](Group& g, StartedBuffers& b) { return g.scatter<F>(b.in, b.part, 1); },
       [](Group& g, StartedBuffers& b) { return g.scatter_async<F>(b.in, b.part, 1); }},
      {"all_to_all", [](Group& g, StartedBuffers& b) { return g.all_to_all<F>(b.in, b.out); },
       [](Group& g, StartedBuffers& b) { return g.all_to_all_async<F>(b.in, b.out); }},
      {"barrier", [](Group& g, StartedBuffers&) { return g.barrier(); },
       [](Group& g, StartedBuffers&) { return g.barrier_async(); }},
      {"send_and_receive",
       [](Group& g, StartedBuffers& b) {
         const std::uint32_t to = b.beside[0], from = b.beside[1];
         Status status = g.rank() == 0 ? g.send<F>(b.in, to) : g.receive(std::span(b.out), from);
         if (!status.ok()) return status;
         return g.rank() == 0 ? g.receive(std::span(b.out), from) : g.send<F>(b.in, to);
       },
       [](Group& g, StartedBuffers& b) { return g.send_async<F>(b.in, b.beside[0]); },
       [](Group& g, StartedBuffers& b) { return g.receive_async(std::span(b.out), b.beside[1]); }},
      {"exchange_with",
       [](Group& g, StartedBuffers& b) { return g.exchange_with<F>(b.beside, b.in, b.of_beside); },
       [](Group& g, StartedBuffers& b) { return g.exchange_with_async<F>(b.beside, b.in, b.of_beside); }},
      {"mix_with", [](Group& g, StartedBuffers& b) { return g.mix_with<F>(b.beside, b.weights, b.mixed); },
       [](Group& g, StartedBuffers& b) { return g.mix_with_async<F>(b.beside, b.weights, b.mixed); }},
  };
  return kAll;
}

class StartedOperation : public ::testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(Each, StartedOperation, ::testing::ValuesIn(forms()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_P(StartedOperation, EndsWithWhatTheCallReturns) {
  const Form& form = GetParam();
  const auto body = [&form](Group& group) -> std::string {
    StartedBuffers called(group.rank()), started(group.rank());
    const StartedBuffers untouched(group.rank());
    if (Status s = form.run(group, called); !s.ok()) return s.message();
    if (std::string(form.name) != "barrier" && called == untouched && group.rank() == 1)
      return "nothing happened";
    GroupWork work = form.start(group, started);
    if (form.start_too) {
      if (Status s = form.start_too(group, started).wait(); !s.ok()) return s.message();
    }
    if (Status s = work.wait(); !s.ok()) return s.message();
    return called == started ? "" : "another result";
  };
  EXPECT_EQ(on_threads(kRanks, body), "");
}

// Operations of several calls end in other orders at other ranks, and take turns on the same channels.
std::string starts_all_at_once(Group& group) {
  std::vector<StartedBuffers> called, started;
  for (std::size_t i = 0; i < 3 * forms().size(); ++i) called.emplace_back(group.rank());
  for (StartedBuffers& b : called) b.vectors = {b.in.data(), b.mixed_too.data()};
  started = called;
  for (StartedBuffers& b : started) b.vectors = {b.in.data(), b.mixed_too.data()};
  for (std::size_t i = 0; i < called.size(); ++i) {
    if (Status s = forms()[i % forms().size()].run(group, called[i]); !s.ok()) return s.message();
  }
  std::vector<GroupWork> works;
  for (std::size_t i = 0; i < started.size(); ++i) {
    const Form& form = forms()[i % forms().size()];
    works.push_back(form.start(group, started[i]));
    if (form.start_too) works.push_back(form.start_too(group, started[i]));
    // Ranks are slow at different places.
    if ((i + group.rank()) % 7 == 0) std::this_thread::yield();
  }
  for (GroupWork& work : works) {
    if (Status s = work.wait(); !s.ok()) return s.message();
  }
  for (std::size_t i = 0; i < called.size(); ++i) {
    if (!(called[i] == started[i]))
      return std::string("another result of ") + forms()[i % forms().size()].name;
  }
  return {};
}

TEST(StartedOperations, GoSideBySide) {
  for (int round = 0; round < 20; ++round) EXPECT_EQ(on_threads(kRanks, starts_all_at_once), "");
}

TEST(StartedOperations, GoSideBySideOverSharedMemoryAndTcp) {
  EXPECT_EQ(on_joined(kRanks, GroupTransport::kShm, starts_all_at_once), "");
  EXPECT_EQ(on_joined(kRanks, GroupTransport::kTcp, starts_all_at_once), "");
}

Task<Status> awaits_each(Group& group, StartedBuffers& b) {
  Status status = co_await group.weighted_mean_async<F>(b.in, b.out, 1.0 + group.rank());
  if (status.ok()) status = co_await group.all_reduce_sparse_async(b.keys, b.rows, 2, b.sum);
  if (status.ok()) status = co_await group.mix_with_async<F>(b.beside, b.weights, b.mixed);
  if (status.ok()) status = co_await group.barrier_async();
  co_return status;
}

TEST(StartedOperations, AreAwaitedByCoroutines) {
  const auto body = [](Group& group) -> std::string {
    StartedBuffers called(group.rank()), awaited(group.rank());
    if (Status s = group.weighted_mean<F>(called.in, called.out, 1.0 + group.rank()); !s.ok())
      return s.message();
    if (Status s = group.all_reduce_sparse(called.keys, called.rows, 2, called.sum); !s.ok())
      return s.message();
    if (Status s = group.mix_with<F>(called.beside, called.weights, called.mixed); !s.ok())
      return s.message();
    if (Status s = group.run(awaits_each(group, awaited)); !s.ok()) return s.message();
    return called == awaited ? "" : "another result";
  };
  EXPECT_EQ(on_threads(kRanks, body), "");
}

// What is found wrong before anything is sent is nobody else's affair.
TEST(StartedOperations, SayWhatCannotBe) {
  std::vector<Group> groups = Group::in_process(1);
  Group& group = groups[0];
  std::vector<float> data(4), other(3);
  SparseRows sum;
  EXPECT_EQ(group.weighted_mean_async<F>(data, data, -1.0).wait().code(), Code::kUsage);
  EXPECT_EQ(group.weighted_mean_async<F>(data, std::span<F>(other), 1.0).wait().code(), Code::kUsage);
  EXPECT_EQ(group.weighted_mean_async<F>(data, data, 0.0).wait().message(),
            "weighted mean: no rank has a weight above 0");
  EXPECT_EQ(group.all_reduce_sparse_async(std::vector<std::uint64_t>{2, 1}, {}, 0, sum).wait().code(),
            Code::kUsage);
  EXPECT_EQ(group.mix_with_async<F>({}, data, data).wait().code(), Code::kUsage);
  EXPECT_EQ(group.reduce_async<F>(data, other).wait().code(), Code::kUsage);
  EXPECT_EQ(group.send_async<F>(data, 0).wait().code(), Code::kUsage);
  EXPECT_EQ(all_reduce_top_k_async(group, {}, TopK::Same::kSum).wait().code(), Code::kUsage);
  EXPECT_TRUE(group.status().ok());
}

// A rank that is lost between two calls of an operation is named, as in one that is called.
TEST(StartedOperations, EndWithTheirGroup) {
  const auto body = [](Group& group) -> std::string {
    std::vector<float> data(4, 1.0f);
    if (group.rank() == 2) return {};  // Leaves.
    const Status status = group.weighted_mean_async<F>(data, data, 1.0).wait();
    if (status.code() != Code::kPeerLost) return "ended: " + status.message();
    return group.weighted_mean_async<F>(data, data, 1.0).wait().code() == Code::kPeerLost ? "" : "goes on";
  };
  EXPECT_EQ(on_joined(kRanks, GroupTransport::kTcp, body), "");
}

}  // namespace
}  // namespace thalweg
