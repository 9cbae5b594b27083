// Short sums of two ranks, which go in one message each way, at once where the other's comes soon.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/random.h"
#include "client/group/group_threads_for_test.h"

namespace thalweg {
namespace {

constexpr int kRounds = 3000;

// Either rank comes early or late by up to longer than the other looks for its message; messages begin at
// every place of the ring, and some are too long for this way.
std::string sum_many(Group& group) {
  const auto me = static_cast<std::int64_t>(group.rank());
  Random same(11), mine(group.rank());
  std::vector<std::int64_t> in(700), out(700);
  std::uint64_t bytes = 0;
  for (std::int64_t round = 0; round < kRounds; ++round) {
    const std::size_t count = same.below(in.size()) + 1;
    for (std::size_t i = 0; i < count; ++i) in[i] = (me + 1) * (round + static_cast<std::int64_t>(i));
    const auto late = std::chrono::microseconds(mine.below(8) == 0 ? mine.below(300) : 0);
    if (late.count() > 0) std::this_thread::sleep_for(late);
    const std::uint64_t before = group.bytes_sent();
    const bool in_place = same.below(2) == 0;
    const std::span<std::int64_t> sums = std::span(in_place ? in : out).first(count);
    const Status status =
        in_place ? group.all_reduce(sums) : group.all_reduce<std::int64_t>(std::span(in).first(count), sums);
    if (!status.ok()) return status.message();
    bytes = group.bytes_sent() - before;
    if (bytes != count * sizeof(std::int64_t)) return "sent " + std::to_string(bytes) + " bytes";
    for (std::size_t i = 0; i < count; ++i) {
      if (sums[i] != 3 * (round + static_cast<std::int64_t>(i)))
        return "round " + std::to_string(round) + ", element " + std::to_string(i) + " is " +
               std::to_string(sums[i]);
    }
  }
  return {};
}

TEST(GroupShortSum, IsExactHoweverLateTheOtherIs) {
  EXPECT_EQ(on_joined(2, GroupTransport::kShm, sum_many), "");
  EXPECT_EQ(on_joined(2, GroupTransport::kTcp, sum_many), "");
  EXPECT_EQ(on_threads(2, sum_many), "");
}

std::string means(Group& group) {
  std::vector<float> values{static_cast<float>(group.rank()), 3.0F};
  if (Status status = group.all_reduce(std::span(values), Reduction::kMean); !status.ok())
    return status.message();
  return values == std::vector<float>{0.5F, 3.0F} ? "" : "the mean is " + std::to_string(values[0]);
}

TEST(GroupShortSum, IsDividedWhereItIsAMean) { EXPECT_EQ(on_joined(2, GroupTransport::kShm, means), ""); }

}  // namespace
}  // namespace thalweg
