#include "thalweg/group.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "client/group/group_matrix_for_test.h"
#include "thalweg/gradients.h"
#include "thalweg/group_store.h"

namespace thalweg {
namespace {

std::string message_of(const Status& status) { return status.ok() ? "" : status.message(); }

TEST(Group, AddsUpInPlaceAndElsewhere) {
  EXPECT_EQ(on_threads(3,
                       [](Group& group) -> std::string {
                         std::vector<float> mine(1000, static_cast<float>(group.rank() + 1)), sum(1000);
                         if (Status s = group.all_reduce<float>(mine, sum); !s.ok()) return s.message();
                         if (Status s = group.all_reduce<float>(mine, Reduction::kMax); !s.ok())
                           return s.message();
                         return sum == std::vector<float>(1000, 6) && mine == std::vector<float>(1000, 3)
                                    ? ""
                                    : "wrong";
                       }),
            "");
}

TEST(Group, TypedMembersMoveWhatTheySay) {
  const auto body = [](Group& group) -> std::string {
    const auto rank = static_cast<std::int32_t>(group.rank());
    std::vector<std::int32_t> whole(10), mine(group.own_part(10).count, rank);
    if (Status s = group.all_gather<std::int32_t>(mine, whole); !s.ok()) return s.message();
    if (whole != std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1, 2, 2, 2}) return "all_gather";
    if (Status s = group.reduce_scatter<std::int32_t>(whole, mine); !s.ok()) return s.message();
    if (mine != std::vector<std::int32_t>(mine.size(), 3 * rank)) return "reduce_scatter";
    std::vector<std::int32_t> pair = {rank, 10 + rank}, all(group.rank() == 1 ? 6 : 0);
    if (Status s = group.gather<std::int32_t>(pair, all, 1); !s.ok()) return s.message();
    if (rank == 1 && all != std::vector<std::int32_t>{0, 10, 1, 11, 2, 12}) return "gather";
    if (Status s = group.scatter<std::int32_t>(all, pair, 1); !s.ok()) return s.message();
    if (pair != std::vector<std::int32_t>{rank, 10 + rank}) return "scatter";
    if (Status s = group.broadcast<std::int32_t>(pair, 2); !s.ok()) return s.message();
    if (pair != std::vector<std::int32_t>{2, 12}) return "broadcast";
    std::vector<std::int32_t> sum(rank == 2 ? 2 : 0);
    if (Status s = group.reduce<std::int32_t>(pair, sum, 2); !s.ok()) return s.message();
    if (rank == 2 && sum != std::vector<std::int32_t>{6, 36}) return "reduce";
    std::vector<std::int32_t> to = {10 * rank, 10 * rank + 1, 10 * rank + 2}, from(3);
    if (Status s = group.all_to_all<std::int32_t>(to, from); !s.ok()) return s.message();
    if (from != std::vector<std::int32_t>{rank, 10 + rank, 20 + rank}) return "all_to_all";
    return message_of(group.barrier());
  };
  EXPECT_EQ(on_threads(3, body), "");
}

TEST(Group, SendsAndReceivesInOrderWhileOthersDoNothing) {
  const auto body = [](Group& group) -> std::string {
    std::vector<double> data(5000, 7), got(5000);
    for (int i = 0; i < 3; ++i) {
      data[0] = i;
      if (group.rank() == 2) {
        if (Status s = group.send<double>(data, 0); !s.ok()) return s.message();
      } else if (group.rank() == 0) {
        if (Status s = group.receive<double>(got, 2); !s.ok()) return s.message();
        if (got != data) return "wrong";
      }
    }
    return {};
  };
  EXPECT_EQ(on_threads(3, body), "");
}

TEST(Group, MovesPartsOfDifferentSizes) {
  const auto body = [](Group& group) -> std::string {
    const std::uint32_t n = group.size(), me = group.rank();
    std::vector<std::size_t> to(n), from(n);  // Rank a sends a * b numbers to rank b, which may be none.
    for (std::uint32_t r = 0; r < n; ++r) to[r] = from[r] = std::size_t{me} * r;
    std::vector<std::int64_t> in(std::accumulate(to.begin(), to.end(), std::size_t{0}), me), out(in.size());
    if (Status s = group.all_to_all<std::int64_t>(in, out, to, from); !s.ok()) return s.message();
    std::vector<std::int64_t> expected;
    for (std::uint32_t r = 0; r < n; ++r) expected.insert(expected.end(), from[r], r);
    if (out != expected) return "all_to_all";
    std::vector<std::size_t> counts(n);
    std::iota(counts.begin(), counts.end(), 0);
    std::vector<std::int64_t> mine(me, me), all(n * (n - 1) / 2);
    if (Status s = group.all_gather<std::int64_t>(mine, all, counts); !s.ok()) return s.message();
    expected.clear();
    for (std::uint32_t r = 0; r < n; ++r) expected.insert(expected.end(), r, r);
    return all == expected ? "" : "all_gather";
  };
  EXPECT_EQ(on_threads(4, body), "");
}

TEST(Group, TakesTheMeanByWeight) {
  const auto body = [](Group& group) -> std::string {
    // Rank r has the mean of r items: 0 of none, 10 of one, 20 of two.
    const std::vector<float> mine(100, 10.0f * static_cast<float>(group.rank()));
    std::vector<float> mean(100);
    if (Status s = group.weighted_mean<float>(mine, mean, group.rank()); !s.ok()) return s.message();
    for (const float x : mean) {
      if (x != static_cast<float>(50.0 / 3)) return "got " + std::to_string(x);
    }
    return group.weighted_mean<float>(mine, mean, -1).code() == Code::kUsage ? ""
                                                                             : "a negative weight passed";
  };
  EXPECT_EQ(on_threads(3, body), "");
}

// Of weights that differ by a power of two, however small or great, the mean has the same bits.
template <class T>
std::string mean_by_weights_like(Group& group, double unit, T value) {
  const std::vector<T> mine(10, value * static_cast<T>(group.rank() + 1));
  std::vector<T> expected(10), mean(10);
  if (Status s = group.weighted_mean<T>(mine, expected, group.rank() + 1); !s.ok()) return s.message();
  if (Status s = group.weighted_mean<T>(mine, mean, unit * (group.rank() + 1)); !s.ok()) return s.message();
  const double truth = 14.0 / 6 * static_cast<double>(value);
  if (std::abs(static_cast<double>(expected[0]) - truth) > 1e-6 * truth)
    return "got " + std::to_string(expected[0]);
  return mean == expected ? "" : std::to_string(unit) + " gave " + std::to_string(mean[0]);
}

TEST(Group, TakesTheMeanByWeightsOutsideTheElementsRange) {
  const auto body = [](Group& group) -> std::string {
    std::string wrong;
    for (const int exponent : {-1074, -1000, -150, -100, 64, 130, 1020}) {
      const double unit = std::ldexp(1.0, exponent);
      wrong += mean_by_weights_like<float>(group, unit, 1.0f);
      wrong += mean_by_weights_like<float>(group, unit, 0x1p120f);
      wrong += mean_by_weights_like<double>(group, unit, 0x1p1000);
    }
    std::vector<float> data(10);
    if (group.weighted_mean<float>(data, data, 0x1p1023).code() != Code::kUsage)
      wrong += "a sum that overflows";
    return wrong + message_of(group.barrier());
  };
  EXPECT_EQ(on_threads(3, body), "");
}

TEST(Group, TellsAllRanksOfAWeightThatIsNone) {
  const auto body = [](Group& group) -> std::string {
    const std::vector<double> mine(5, group.rank());
    std::vector<double> mean(5);
    for (const double none : {-1.0, HUGE_VAL, std::nan("")}) {
      const double weight = group.rank() == 1 ? none : 1;
      const Status called = group.weighted_mean<double>(mine, mean, weight);
      const Status started = group.weighted_mean_async<double>(mine, mean, weight).wait();
      for (const Status& status : {called, started}) {
        const char* const said = group.rank() == 1 ? "this rank's weight is" : "another rank's weight is";
        if (status.code() != Code::kUsage || status.message().find(said) == std::string::npos)
          return "said: " + message_of(status);
      }
      if (Status s = group.weighted_mean<double>(mine, mean, 1); !s.ok()) return s.message();
      if (mean != std::vector<double>(5, 1)) return "the next mean is " + std::to_string(mean[0]);
    }
    return {};
  };
  EXPECT_EQ(on_threads(3, body), "");
}

TEST(Group, CombinesByAnOwnMonoid) {
  struct Widest {
    double low, high;
  };
  const Monoid hull = {"hull", sizeof(Widest),
                       [](void* into, const void* from, std::size_t count, void*) {
                         for (std::size_t i = 0; i < count; ++i) {
                           Widest& a = static_cast<Widest*>(into)[i];
                           const Widest& b = static_cast<const Widest*>(from)[i];
                           a = {std::min(a.low, b.low), std::max(a.high, b.high)};
                         }
                       },
                       nullptr};
  const auto body = [&hull](Group& group) -> std::string {
    const double rank = group.rank();
    std::vector<Widest> spans(70, {rank, rank + 1});
    if (Status s = group.all_reduce(std::span(spans), hull); !s.ok()) return s.message();
    for (const Widest& span : spans) {
      if (span.low != 0 || span.high != 4) return "wrong";
    }
    return {};
  };
  EXPECT_EQ(on_threads(4, body), "");
}

TEST(Group, SplitsByColourAndOrdersByKey) {
  const auto body = [](Group& group) -> std::string {
    const auto rank = static_cast<std::int32_t>(group.rank());
    Result<std::optional<Group>> half = group.split(rank == 4 ? -1 : rank % 2, -rank);
    if (!half) return half.status().message();
    if (rank == 4) return half->has_value() ? "a negative colour gave a group" : message_of(group.barrier());
    Group& mine = **half;
    if (mine.size() != 2 || mine.rank() != (rank < 2 ? 1u : 0u)) return "order";
    std::vector<std::int32_t> sum = {rank};
    if (Status s = mine.all_reduce(std::span(sum)); !s.ok()) return s.message();
    if (sum[0] != (rank % 2 == 0 ? 2 : 4)) return "sum";
    Result<std::optional<Group>> alone = mine.split(rank);
    if (!alone || (*alone)->size() != 1) return "a group of one";
    if (Status s = (*alone)->all_reduce(std::span(sum)); !s.ok()) return s.message();
    return message_of(group.barrier());
  };
  EXPECT_EQ(on_threads(5, body), "");
}

TEST(Group, RunsSeveralOperationsSideBySide) {
  const auto body = [](Group& group) -> std::string {
    constexpr std::size_t kTensors = 50, kSize = 3000;
    std::vector<std::vector<float>> tensors;
    std::vector<GroupWork> works;
    for (std::size_t i = 0; i < kTensors; ++i) tensors.emplace_back(kSize, static_cast<float>(i));
    for (auto& tensor : tensors) works.push_back(group.all_reduce_async(std::span(tensor)));
    if (Status s = group.barrier(); !s.ok()) return s.message();  // A blocking call in between.
    for (std::size_t i = 0; i < kTensors; ++i) {
      if (Status s = works[i].wait(); !s.ok()) return s.message();
      if (!works[i].done() || tensors[i] != std::vector<float>(kSize, static_cast<float>(3 * i)))
        return "wrong";
    }
    return {};
  };
  EXPECT_EQ(on_threads(3, body), "");
}

TEST(Group, ExchangesBothWaysAtOnceWithStartedSends) {
  const auto body = [](Group& group) -> std::string {
    std::vector<float> mine(1'000'000, static_cast<float>(group.rank())), theirs(mine.size());
    GroupCall call = Group::typed<float>(Operation::kPointToPoint, mine.data(), nullptr, mine.size());
    call.root = group.rank();
    call.peer = 1 - group.rank();
    GroupWork sending = group.start(call);
    if (Status s = group.receive<float>(theirs, 1 - group.rank()); !s.ok()) return s.message();
    if (Status s = sending.wait(); !s.ok()) return s.message();
    return theirs[999'999] == static_cast<float>(1 - group.rank()) ? "" : "wrong";
  };
  EXPECT_EQ(on_threads(2, body), "");
}

Task<Status> add_up_often(Group& group, std::vector<double>& data) {
  std::vector<double> other(10, 1);
  for (int i = 0; i < 20; ++i) {
    GroupWork first = group.all_reduce_async(std::span(data), Reduction::kMax);
    GroupWork second = group.all_reduce_async(std::span(other), Reduction::kMean);
    if (Status status = co_await first; !status.ok()) co_return status;
    if (Status status = co_await second; !status.ok()) co_return status;
    data[0] += 1;
  }
  co_return ok_status();
}

TEST(Group, IsAwaitable) {
  const auto body = [](Group& group) -> std::string {
    std::vector<double> data(100, group.rank());
    const Status status = group.run(add_up_often(group, data));
    return !status.ok() || (data[0] == 21 && data[1] == 1) ? message_of(status)
                                                           : "got " + std::to_string(data[0]);
  };
  EXPECT_EQ(on_threads(2, body), "");
}

struct OwnThreadSeen {
  Status waited, ran;
};

Task<Status> block(Group& group, std::vector<double>& data, OwnThreadSeen& seen) {
  if (Status status = co_await group.barrier_async(); !status.ok()) co_return status;
  GroupWork work = group.all_reduce_async(std::span(data));
  seen.waited = work.wait();
  seen.ran = group.run(add_up_often(group, data));
  co_return co_await work;
}

TEST(Group, RefusesToBlockItsOwnThread) {
  std::vector<Group> groups = Group::in_process(2);
  std::vector<double> data(10, 1), others(10, 2);
  OwnThreadSeen seen;
  Task<Status> program = block(groups[0], data, seen);
  program.handle().resume();  // Up to the barrier, which the other rank has not come to.
  EXPECT_TRUE(groups[1].barrier_async().wait().ok());
  EXPECT_TRUE(groups[1].all_reduce_async(std::span(others)).wait().ok());
  groups.clear();
  ASSERT_TRUE(program.done());
  EXPECT_TRUE(program.take().ok());
  EXPECT_EQ(data, others);
  EXPECT_NE(seen.waited.message().find("start operations and await them"), std::string::npos);
  EXPECT_EQ(seen.ran.code(), Code::kUsage);
}

TEST(Group, RefusesCallsThatCannotBeRight) {
  std::vector<Group> groups = Group::in_process(1);
  Group& group = groups[0];
  std::vector<float> three(3), four(4);
  EXPECT_NE(group.all_reduce<float>(three, four).message().find("4 elements; expected 3"), std::string::npos);
  EXPECT_EQ(group.broadcast<float>(three, 1).code(), Code::kUsage);
  EXPECT_EQ(group.send<float>(three, 0).code(), Code::kUsage);
  const std::vector<std::size_t> counts = {2};
  EXPECT_NE(group.all_gather<float>(three, three, counts).message().find("sum is 2; expected 3"),
            std::string::npos);
  EXPECT_NE(RouteChoice::named("wheel").status().message().find("expected one of"), std::string::npos);
  GroupCall call = Group::typed<float>(Operation::kAllReduce, nullptr, three.data(), 3);
  EXPECT_NE(group.run(call).message().find("`in` is null"), std::string::npos);
  EXPECT_EQ(group.start(call).wait().code(), Code::kUsage);
  Monoid unfinished;
  unfinished.name = "widest", unfinished.element_bytes = sizeof(float);
  EXPECT_NE(group.all_reduce(std::span(three), unfinished).message().find("'widest' has no `combine`"),
            std::string::npos);
  EXPECT_TRUE(group.status().ok());
  EXPECT_TRUE(group.all_reduce(std::span(three)).ok());
}

// Those of an all-reduce get no result, so what they pass for it is refused.
TEST(Group, ServersPassNoBuffers) {
  for (const std::string name : {"servers:2", "byteps:2"}) {
    const auto body = [&name](Group& group) -> std::string {
      const RouteChoice route = *RouteChoice::named(name);
      const bool serves = group.rank() >= group.size() - route.servers();
      std::vector<float> in(10, static_cast<float>(group.rank() + 1)), out(10);
      if (serves) {
        for (const bool with_in : {true, false}) {
          const GroupCall call = Group::typed<float>(Operation::kAllReduce, with_in ? in.data() : nullptr,
                                                     with_in ? nullptr : out.data(), 10, {}, route);
          const Status status = group.run(call);
          if (status.code() != Code::kUsage || status.message().find("is a server") == std::string::npos)
            return "passed buffers: " + message_of(status);
        }
      }
      const GroupCall call = Group::typed<float>(Operation::kAllReduce, serves ? nullptr : in.data(),
                                                 serves ? nullptr : out.data(), 10, {}, route);
      if (Status status = group.run(call); !status.ok()) return status.message();
      if (!serves && out != std::vector<float>(10, 3)) return "got " + std::to_string(out[0]);
      std::vector<float> from(8);
      return message_of(group.all_to_all<float>(std::vector<float>(8), from, {}, {}, route));
    };
    EXPECT_EQ(on_threads(4, body), "") << name;
  }
}

TEST(Group, RefusesServersWhereAllRanksHaveAResult) {
  const auto body = [](Group& group) -> std::string {
    const RouteChoice route = *RouteChoice::named("byteps:1");
    std::vector<float> data(4);
    if (group.weighted_mean<float>(data, data, 1, route).code() != Code::kUsage) return "weighted mean";
    GradientOptions gradients;
    gradients.route = route;
    if (Gradients::create(group, {{"one", 4}}, gradients).status().code() != Code::kUsage) return "gradients";
    GroupStoreOptions store;
    store.route = route;
    return GroupStore::create(group, store).status().code() == Code::kUsage ? "" : "store";
  };
  EXPECT_EQ(on_threads(3, body), "");
}

TEST(Group, OfOneRankIsNoServer) {
  std::vector<Group> groups = Group::in_process(1);
  std::vector<float> data(4, 1);
  for (const char* name : {"servers:1", "byteps:1"}) {
    const Status status = groups[0].all_reduce(std::span(data), Reduction::kMean, *RouteChoice::named(name));
    EXPECT_EQ(status.code(), Code::kUsage) << name;
    EXPECT_NE(status.message().find("leave no worker among 1 rank"), std::string::npos) << status.message();
  }
  EXPECT_EQ(data, std::vector<float>(4, 1));
}

// What a group of two says of counts that its buffers do not have.
TEST(Group, RefusesCountsThatBuffersDoNotHave) {
  std::vector<Group> groups = Group::in_process(2);
  Group& group = groups[0];
  std::vector<float> one(1), four(4);
  const std::size_t three_one[] = {3, 1}, one_one[] = {1, 1}, alone[] = {4}, past_the_end[] = {~0UL, 5};
  const auto says = [](const Status& status, const char* what) {
    EXPECT_EQ(status.code(), Code::kUsage);
    EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
  };
  says(group.all_gather<float>(one, four, three_one), "all-gather: a buffer has 1 elements; expected 3");
  says(group.all_gather<float>(four, four, past_the_end), "sum is 18446744073709551615; expected 4");
  says(group.all_gather<float>(four, four, alone), "got 1 counts; expected one for each of 2 ranks");
  says(group.all_to_all<float>(four, four, three_one, one_one),
       "all-to-all: the counts' sum is 2; expected 4");
  says(group.all_to_all<float>(four, four, one_one, three_one),
       "all-to-all: the counts' sum is 2; expected 4");
  says(group.all_to_all<float>(four, four, {}, three_one), "must be given together");
  GroupCall call = Group::typed<float>(Operation::kAllReduce, four.data(), four.data(), ~0UL);
  says(group.run(call), "18446744073709551615 elements of 4 bytes each; expected at most");
  call = Group::typed<float>(Operation::kAllToAll, four.data(), one.data(), 4);
  call.counts = three_one;
  call.counts_out = past_the_end;
  says(group.run(call), "18446744073709551615 elements of 4 bytes each; expected at most");
}

TEST(Group, SaysWhichRanksCallDifferentThings) {
  const std::string wrong = on_threads(2, [](Group& group) {
    std::vector<float> data(group.rank() == 0 ? 5 : 6);
    const Status status = group.all_reduce(std::span(data));
    EXPECT_EQ(group.status(), status);
    EXPECT_EQ(group.barrier(), status);
    return message_of(status);
  });
  EXPECT_NE(wrong.find("rank 1 calls all-reduce #0 of 6 f32"), std::string::npos) << wrong;
}

TEST(Group, NamesWhomItWaitedForInVain) {
  std::vector<Group> groups = Group::in_process(3, std::chrono::milliseconds(50));
  std::vector<float> data(9);
  const Status status = groups[0].all_reduce(std::span(data), {}, *RouteChoice::named("ring"));
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_NE(status.message().find("rank 2 was waited for in vain within 0.05 s"), std::string::npos)
      << status.message();
  EXPECT_EQ(groups[1].all_reduce_async(std::span(data), {}, *RouteChoice::named("ring")).wait().code(),
            Code::kTimeout);
}

TEST(Group, NamesWhoIsGone) {
  std::vector<Group> groups = Group::in_process(3);
  std::thread leaver([&groups] { Group gone = std::move(groups[2]); });
  std::vector<float> data(9);
  const Status status = groups[0].all_reduce(std::span(data), {}, *RouteChoice::named("ring"));
  leaver.join();
  EXPECT_EQ(status.code(), Code::kPeerLost);
  EXPECT_NE(status.message().find("rank 2 has left the group"), std::string::npos) << status.message();
}

TEST(Group, HandsOutSharedMemory) {
  const auto body = [](Group& group) -> std::string {
    Result<std::span<float>> data = group.allocate<float>(100'000);
    if (!data) return data.status().message();
    std::fill(data->begin(), data->end(), 1.0f);
    Status s = group.all_reduce<float>(*data, {}, *RouteChoice::named("shared"));
    const bool right = (*data)[99'999] == 2.0f;
    group.free(data->data());
    return right ? message_of(s) : "wrong";
  };
  EXPECT_EQ(on_threads(2, body), "");
}

}  // namespace
}  // namespace thalweg
