#include "client/collective/reproducible_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"

namespace thalweg {
namespace {

constexpr std::size_t kContributions = 8, kCount = 501;
using Vectors = std::vector<std::vector<double>>;

Vectors draw() {
  Random random(1);
  Vectors vectors(kContributions, std::vector<double>(kCount));
  for (auto& vector : vectors) {
    for (double& value : vector) value = std::ldexp(random.normal(), static_cast<int>(random.below(80)));
  }
  return vectors;
}

void on_threads_of_ranks(std::uint32_t ranks, const std::function<void(Group&)>& program) {
  std::vector<Group> groups = Group::in_process(ranks);
  std::vector<std::thread> threads;
  for (Group& group : groups) threads.emplace_back([&] { program(group); });
  for (std::thread& thread : threads) thread.join();
}

// The sum of all contributions, brought in equal shares.
std::vector<double> sum_by(std::uint32_t ranks, const Vectors& vectors, RouteChoice route) {
  std::vector<double> result;
  on_threads_of_ranks(ranks, [&](Group& group) {
    const std::size_t share = kContributions / ranks;
    std::vector<const double*> mine;
    for (std::size_t i = 0; i < share; ++i) mine.push_back(vectors[group.rank() * share + i].data());
    std::vector<double> out(kCount);
    const Status status = group.reproducible_sum<double>(mine, out, route);
    EXPECT_TRUE(status.ok()) << status.message();
    if (group.rank() == 0) result = out;
  });
  return result;
}

TEST(ReproducibleSum, OfOneTwoFourOrEightRanksHasTheSameBits) {
  const Vectors vectors = draw();
  const std::vector<double> expected = sum_by(1, vectors, {});
  for (const std::uint32_t ranks : {2, 4, 8}) {
    for (const char* route : {"ring", "tree:2", "recursive-doubling"}) {
      const std::vector<double> sum = sum_by(ranks, vectors, *RouteChoice::named(route));
      EXPECT_EQ(0, std::memcmp(sum.data(), expected.data(), kCount * sizeof(double)))
          << ranks << " by " << route;
    }
  }
}

TEST(ReproducibleSum, IsAReductionOfEveryOperationThatCombines) {
  const Vectors vectors = draw();
  const std::vector<double> expected = sum_by(8, vectors, {});
  on_threads_of_ranks(8, [&](Group& group) {
    const std::span<const double> in = vectors[group.rank()];
    const auto expect_bits = [&](std::span<const double> found, std::size_t begin) {
      EXPECT_TRUE(found.empty() || !std::memcmp(found.data(), expected.data() + begin, found.size_bytes()));
    };
    std::vector<double> in_place(in.begin(), in.end()), at_root(group.rank() == 3 ? kCount : 0);
    const Group::Part part = group.own_part(kCount);
    std::vector<double> own(part.count);
    EXPECT_TRUE(group.all_reduce<double>(in_place, Reduction::kReproducibleSum).ok());
    expect_bits(in_place, 0);
    EXPECT_TRUE(group.reduce<double>(in, at_root, 3, Reduction::kReproducibleSum).ok());
    expect_bits(at_root, 0);
    EXPECT_TRUE(group.reduce_scatter<double>(in, own, Reduction::kReproducibleSum).ok());
    expect_bits(own, part.begin);
    std::vector<std::int64_t> integers(10, group.rank());
    EXPECT_TRUE(group.all_reduce<std::int64_t>(integers, Reduction::kReproducibleSum).ok());
    EXPECT_EQ(integers, std::vector<std::int64_t>(10, 28));
  });
}

TEST(ReproducibleSum, RefusesWhatItCannotDo) {
  std::vector<Group> group = Group::in_process(1);
  std::vector<float> data(4);
  GroupCall call =
      Group::typed<float>(Operation::kAllReduce, data.data(), nullptr, 4, Reduction::kReproducibleSum);
  EXPECT_EQ(group[0].run(call).code(), Code::kUsage);
  EXPECT_EQ(group[0].start(call).wait().code(), Code::kUsage);
  call.out = data.data();
  call.type = DataType::kF16;
  EXPECT_NE(group[0].run(call).message().find("expected f32 or f64"), std::string::npos);
  const std::vector<const float*> many(65536, data.data());
  EXPECT_EQ(group[0].reproducible_sum<float>(many, data).code(), Code::kUsage);
}

}  // namespace
}  // namespace thalweg
