// Ranks that call different things learn it from each other, not from the end of a timeout.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/group/group_threads_for_test.h"
#include "exchange/plan/plan.h"
#include "thalweg/gradients.h"
#include "thalweg/group.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kMismatchRanks = 4, kOdd = 2;

struct Mismatch {
  const char* name;
  std::function<void(GroupCall& call)> usual;  // What all ranks but one call.
  std::function<void(GroupCall& call)> odd;    // How that one's call differs from it.
  const char* said;                            // Of that one's, to all ranks.
};

RouteChoice route(const char* name, std::size_t piece_bytes = 0, std::uint32_t channels = 1) {
  return *RouteChoice::named(name, {piece_bytes, channels});
}

const std::vector<Mismatch>& mismatches() {
  static const std::vector<Mismatch> kAll = {
      {"route", [](GroupCall& c) { c.route = route("ring"); },
       [](GroupCall& c) { c.route = route("tree:2"); }, "by tree:2"},
      {"fan_out", [](GroupCall& c) { c.route = route("tree:3"); },
       [](GroupCall& c) { c.route = route("tree:2"); }, "by tree:2"},
      {"pieces", [](GroupCall& c) { c.route = route("ring"); },
       [](GroupCall& c) { c.route = route("ring", 64); }, "in pieces of 16 elements"},
      {"channels", [](GroupCall& c) { c.route = route("ring"); },
       [](GroupCall& c) { c.route = route("ring", 0, 3); }, "on 3 channels"},
      {"route_that_is_named", [](GroupCall&) {}, [](GroupCall& c) { c.route = route("chain"); }, "by chain"},
      {"operation", [](GroupCall& c) { c.route = route("chain"); },
       [](GroupCall& c) { c.operation = Operation::kBroadcast; }, "broadcast"},
      {"reduction", [](GroupCall&) {}, [](GroupCall& c) { c.combine = Reduction::kMax; }, "(max)"},
      {"type", [](GroupCall&) {}, [](GroupCall& c) { c.type = DataType::kI32; }, "i32"},
      {"count", [](GroupCall&) {}, [](GroupCall& c) { c.count = 7; }, "of 7 f32"},
      {"counts",
       [](GroupCall& c) {
         static constexpr std::size_t kUsual[] = {400, 200, 200, 200};
         c.operation = Operation::kScatter;
         c.counts = kUsual;
       },
       [](GroupCall& c) {
         static constexpr std::size_t kOther[] = {200, 200, 200, 400};
         c.counts = kOther;
       },
       "rank 2 calls"},
      {"root", [](GroupCall& c) { c.operation = Operation::kReduce; }, [](GroupCall& c) { c.root = 3; },
       "rank 2 calls"},  // It may be in its next operation when others look.
  };
  return kAll;
}

// Ranks that are through without a word of it learn it in their next operation.
std::string learns(Group& group, const Mismatch& mismatch, bool starts) {
  std::vector<float> data(1000);
  GroupCall call = Group::typed<float>(Operation::kAllReduce, data.data(), data.data(), data.size());
  mismatch.usual(call);
  if (group.rank() == kOdd) mismatch.odd(call);
  Status status = starts ? group.start(call).wait() : group.run(call);
  if (status.ok()) status = group.barrier();
  if (status.code() != Code::kRefused) return "ended: " + status.message();
  const bool tells = status.message().find("rank 2 calls") != std::string::npos &&
                     status.message().find(mismatch.said) != std::string::npos;
  return tells ? "" : "said: " + status.message();
}

using GroupMismatch = testing::TestWithParam<Mismatch>;

TEST_P(GroupMismatch, IsToldToAllRanks) {
  for (const bool starts : {false, true}) {
    const auto body = [starts](Group& group) { return learns(group, GetParam(), starts); };
    EXPECT_EQ(on_threads(kMismatchRanks, body), "") << starts;
    EXPECT_EQ(on_joined(kMismatchRanks, GroupTransport::kTcp, body), "") << starts;
    EXPECT_EQ(on_joined(kMismatchRanks, GroupTransport::kShm, body), "") << starts;
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, GroupMismatch, testing::ValuesIn(mismatches()),
                         [](const auto& mismatch) { return std::string(mismatch.param.name); });

// Some ranks may be through before they hear of it, even through a barrier; they are told in the next
// operation of what went wrong in this one.
std::string learns_of_roots(Group& group, Operation operation, std::size_t count) {
  std::vector<float> in(count, 1), out(count);
  const float* const from = operation == Operation::kBroadcast ? out.data() : in.data();
  GroupCall call = Group::typed<float>(operation, from, out.data(), count);
  call.root = group.rank() == 1 ? 1 : 0;
  Status status = group.run(call);
  for (int more = 0; status.ok() && more < 2; ++more) status = group.barrier();
  const std::string what = std::string(" calls ") + operation_name(operation) + " #0 of ";
  const bool tells = status.message().find("rank 1" + what) != std::string::npos &&
                     status.message().find(", root 0") != std::string::npos &&
                     status.message().find(", root 1") != std::string::npos;
  if (status.code() == Code::kRefused && tells) return "";
  return std::string(operation_name(operation)) + " of " + std::to_string(count) + ": " + status.message();
}

TEST(GroupMismatchIn, RootsNamesBothToAllRanks) {
  for (const Operation operation :
       {Operation::kBroadcast, Operation::kReduce, Operation::kGather, Operation::kScatter}) {
    for (const std::size_t count : {4UL, 1000UL, 100000UL}) {
      const auto body = [=](Group& group) { return learns_of_roots(group, operation, count); };
      for (const std::uint32_t ranks : {2U, kMismatchRanks}) {
        EXPECT_EQ(on_threads(ranks, body), "") << ranks;
        EXPECT_EQ(on_joined(ranks, GroupTransport::kTcp, body), "") << ranks;
        EXPECT_EQ(on_joined(ranks, GroupTransport::kShm, body), "") << ranks;
      }
    }
  }
}

// Whose bytes suffice for what its receiver expects, whether they are there before it looks or come later.
TEST(GroupMismatchIn, MessagesIsFoundByTheReceiver) {
  const auto body = [](Group& group) -> std::string {
    std::vector<float> data(16, 1);
    if (group.rank() == 0) {
      const Status sent = group.send<float>(data, 1);
      return sent.ok() || sent.code() == Code::kRefused ? "" : sent.message();
    }
    data.resize(8);
    const Status status = group.receive<float>(data, 0);
    const bool tells = status.message().find("of 16 f32") != std::string::npos &&
                       status.message().find("of 8 f32") != std::string::npos;
    return status.code() == Code::kRefused && tells ? "" : "said: " + status.message();
  };
  EXPECT_EQ(on_threads(2, body), "");
  EXPECT_EQ(on_joined(2, GroupTransport::kTcp, body), "");
  EXPECT_EQ(on_joined(2, GroupTransport::kShm, body), "");
}

// Rank 0 sends `sent` elements to rank 1, which expects `expected` of them; 1 goes the other way.
std::string parts_differ(Group& group, std::size_t sent, std::size_t expected) {
  const bool first = group.rank() == 0;
  const std::size_t counts[] = {1, first ? sent : 1}, counts_out[] = {first ? 1 : expected, 1};
  std::vector<float> mine(counts[0] + counts[1], 1), theirs(counts_out[0] + counts_out[1]);
  Status status = group.all_to_all<float>(mine, theirs, counts, counts_out);
  if (status.ok()) status = group.barrier();
  const std::string said =
      "rank 0 sends rank 1 " + std::to_string(sent) + " elements of all-to-all #0 of f32 by";
  const bool tells = status.message().find(said) != std::string::npos &&
                     status.message().find("which expects " + std::to_string(expected)) != std::string::npos;
  return status.code() == Code::kRefused && tells ? "" : "said: " + status.message();
}

TEST(GroupMismatchIn, PartsOfAnAllToAllIsFoundByTheReceiver) {
  for (const auto& parts : {std::pair{3UL, 1UL}, {3, 2}, {3, 0}, {0, 2}}) {
    const auto body = [parts](Group& group) { return parts_differ(group, parts.first, parts.second); };
    EXPECT_EQ(on_threads(2, body), "");
    EXPECT_EQ(on_joined(2, GroupTransport::kTcp, body), "");
    EXPECT_EQ(on_joined(2, GroupTransport::kShm, body), "");
  }
}

TEST(GroupMismatchIn, StartingIsToldAtTheDeadline) {
  GroupOptions options;
  options.size = 2;
  options.timeout = std::chrono::seconds(1);
  EXPECT_EQ(on_joined(options,
                      [](Group& group) -> std::string {
                        std::vector<float> data(10, 1);
                        const Status status = group.rank() == 0
                                                  ? group.all_reduce(std::span(data))
                                                  : group.all_reduce_async(std::span(data)).wait();
                        const bool tells = status.message().find(
                                               "rank 1 (all-reduce #0 of 10 f32 (sum) by "
                                               "recursive-doubling, started, ") != std::string::npos;
                        return status.code() == Code::kTimeout && tells ? "" : "said: " + status.message();
                      }),
            "");
}

TEST(GroupMismatchIn, SplitGroupsIsTheirsAlone) {
  const auto body = [](Group& group) -> std::string {
    auto half = group.split(static_cast<std::int32_t>(group.rank() / 2));
    if (!half) return half.status().message();
    std::vector<float> data(1000, 1);
    const RouteChoice way = route(group.rank() == 2 ? "chain" : "ring");
    const Status status = (*half)->all_reduce(std::span(data), {}, way);
    if (group.rank() < 2) return status.ok() ? "" : status.message();
    return status.code() == Code::kRefused ? "" : "ended: " + status.message();
  };
  EXPECT_EQ(on_threads(kMismatchRanks, body), "");
}

TEST(GroupMismatchIn, GradientsNamesTheOptionsOfBoth) {
  const auto body = [](Group& group) -> std::string {
    GradientOptions options;
    options.codec = group.rank() == kOdd ? "sign" : "top-k:0.1";
    auto grads = Gradients::create(group, {{"weights", 1000}}, options);
    if (!grads) return grads.status().message();
    if (Status status = grads->announce_all(); !status.ok()) return status.message();
    const Status status = grads->wait_all();
    const bool tells = status.message().find("rank 2 has other gradients") != std::string::npos &&
                       status.message().find("compressed by sign; here") != std::string::npos;
    const bool is_odd = group.rank() == kOdd;  // It hears of rank 0's, or what rank 0 says of its own.
    return status.code() == Code::kRefused && (tells || is_odd) ? "" : "said: " + status.message();
  };
  EXPECT_EQ(on_threads(kMismatchRanks, body), "");
}

}  // namespace
}  // namespace thalweg
