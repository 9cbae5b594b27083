// Where an operation's two buffers may lie.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "client/group/group_threads_for_test.h"
#include "exchange/plan/plan.h"
#include "thalweg/group.h"

namespace thalweg {
namespace {

using Numbers = std::vector<std::int64_t>;
constexpr std::size_t kInPlaceCount = 10;  // Parts of three ranks: 4, 3 and 3.

// Every element of the rank's own part is its number, others are -1.
Numbers with_own_part(const Group& group) {
  Numbers all(kInPlaceCount, -1);
  const Group::Part own = group.own_part(kInPlaceCount);
  for (std::size_t i = 0; i < own.count; ++i) all[own.begin + i] = group.rank();
  return all;
}

Numbers all_parts(const Group& group) {
  Numbers all(kInPlaceCount, -1);
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    const Group::Part part = group.part(kInPlaceCount, rank);
    for (std::size_t i = 0; i < part.count; ++i) all[part.begin + i] = rank;
  }
  return all;
}

std::string gather_in_place(Group& group) {
  const Group::Part own = group.own_part(kInPlaceCount);
  Numbers all = with_own_part(group);
  const std::span<std::int64_t> part = std::span(all).subspan(own.begin, own.count);
  if (Status s = group.all_gather<std::int64_t>(part, all); !s.ok()) return s.message();
  if (all != all_parts(group)) return "all-gather";
  Numbers pairs(2 * std::size_t{group.size()}, -1);  // Gather: all ranks have as many.
  const std::span<std::int64_t> pair = std::span(pairs).subspan(2 * std::size_t{group.rank()}, 2);
  pair[0] = pair[1] = group.rank();
  if (Status s = group.gather<std::int64_t>(pair, pairs, 1); !s.ok()) return s.message();
  if (group.rank() == 1 && pairs != Numbers{0, 0, 1, 1, 2, 2}) return "gather";
  return {};
}

std::string scatter_in_place(Group& group) {
  const Group::Part own = group.own_part(kInPlaceCount);
  Numbers all(kInPlaceCount);
  std::iota(all.begin(), all.end(), 0);
  const std::span<std::int64_t> part = std::span(all).subspan(own.begin, own.count);
  for (const Reduction how : {Reduction::kSum, Reduction::kMax}) {
    std::iota(all.begin(), all.end(), 0);
    if (Status s = group.reduce_scatter<std::int64_t>(all, part, how); !s.ok()) return s.message();
    for (std::size_t i = 0; i < own.count; ++i) {
      const auto place = static_cast<std::int64_t>(own.begin + i);
      if (part[i] != (how == Reduction::kSum ? 3 * place : place)) return "reduce-scatter";
    }
  }
  Numbers pairs = group.rank() == 2 ? Numbers{0, 1, 10, 11, 20, 21} : Numbers(2);
  const std::size_t at = group.rank() == 2 ? 4 : 0;
  const std::span<std::int64_t> pair = std::span(pairs).subspan(at, 2);
  if (Status s = group.scatter<std::int64_t>(pairs, pair, 2); !s.ok()) return s.message();
  const auto rank = static_cast<std::int64_t>(group.rank());
  return pair[0] == 10 * rank && pair[1] == 10 * rank + 1 ? "" : "scatter";
}

TEST(GroupInPlace, APartLiesWhereItBelongsInTheWhole) {
  EXPECT_EQ(on_threads(3, gather_in_place), "");
  EXPECT_EQ(on_threads(3, scatter_in_place), "");
}

// What rank 1 of 3 is told of a call with `in` and `out` at these places of one vector.
std::string refusal(Operation operation, std::size_t in, std::size_t out, Combine how = {}) {
  std::vector<Group> groups = Group::in_process(3);
  std::vector<double> memory(40);
  GroupCall call =
      Group::typed<double>(operation, memory.data() + in, memory.data() + out, kInPlaceCount, how);
  call.root = 1;
  if (operation == Operation::kAllToAll) call.count = 9;
  const Status status = groups[1].run(call);
  EXPECT_EQ(status.code(), Code::kUsage) << operation_name(operation) << ": " << status.message();
  EXPECT_EQ(groups[1].start(call).wait().code(), Code::kUsage);
  EXPECT_TRUE(groups[1].status().ok());
  return status.message();
}

TEST(GroupInPlace, AnyOtherOverlapIsRefused) {
  EXPECT_EQ(refusal(Operation::kAllGather, 0, 0),
            "all-gather: `in` and `out` overlap; expected in == out + 4, the rank's own part of `out` (in "
            "place), or none in common");
  EXPECT_NE(refusal(Operation::kGather, 0, 0).find("in == out + 4"), std::string::npos);
  EXPECT_EQ(refusal(Operation::kReduceScatter, 0, 0),
            "reduce-scatter: `in` and `out` overlap; expected out == in + 4, the rank's own part of `in` (in "
            "place), or none in common");
  EXPECT_NE(refusal(Operation::kScatter, 0, 0).find("out == in + 4"), std::string::npos);
  for (const Operation operation : {Operation::kAllGather, Operation::kGather}) {
    refusal(operation, 5, 0);
    refusal(operation, 8, 10);  // Its last element is the first one of `out`.
  }
  for (const Operation operation : {Operation::kReduceScatter, Operation::kScatter}) {
    refusal(operation, 0, 5);
    refusal(operation, 10, 8);
  }
  for (const Operation operation :
       {Operation::kAllReduce, Operation::kReduce, Operation::kBroadcast, Operation::kAllToAll}) {
    EXPECT_NE(refusal(operation, 0, 1).find("the same memory"), std::string::npos);
    refusal(operation, 1, 0);
  }
  refusal(Operation::kAllReduce, 0, 9, Reduction::kReproducibleSum);
  refusal(Operation::kReduceScatter, 0, 0, Reduction::kReproducibleSum);
}

TEST(GroupInPlace, SumsOfOtherKindsRefuseOverlapsToo) {
  std::vector<Group> groups = Group::in_process(1);
  std::vector<double> memory(20, 1);
  const std::span<double> all(memory);
  EXPECT_EQ(groups[0].weighted_mean<double>(all.first(10), all.subspan(5, 10), 1).code(), Code::kUsage);
  EXPECT_TRUE(groups[0].weighted_mean<double>(all, all, 1).ok());
  const double* const vectors[] = {memory.data(), memory.data() + 4};
  EXPECT_EQ(groups[0].reproducible_sum<double>(vectors, all.first(10)).code(), Code::kUsage);
  const double* const same[] = {memory.data(), memory.data() + 10};
  EXPECT_TRUE(groups[0].reproducible_sum<double>(same, all.first(10)).ok());
  EXPECT_EQ(memory[9], 2);
}

TEST(GroupInPlace, MemoryBeyondAnEmptyResultStaysAsItIs) {
  const auto body = [](Group& group) -> std::string {
    Numbers sum(4, -5);
    const std::span<std::int64_t> none = std::span(sum).first(group.rank() == 0 ? 4 : 0);
    const Numbers mine(4, 1);
    if (Status s = group.reduce<std::int64_t>(mine, none, 0, {}, *RouteChoice::named("binomial-tree"));
        !s.ok())
      return s.message();
    return sum == Numbers(4, group.rank() == 0 ? 4 : -5) ? "" : "written";
  };
  EXPECT_EQ(on_threads(4, body), "");
}

}  // namespace
}  // namespace thalweg
