// Formulas of algorithms where floats need no rounding, on numbers of few binary digits: what is compared is
// equal, or it is not the same formula.
#include <map>
#include <mutex>

#include "base/temporary_folder_for_test.h"
#include "train/algorithm/least_squares_for_test.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kShards = 4;
constexpr double kRate = 1.0 / 16;

// Four rows a shard of ones and minus ones; labels are of another kind in each shard.
LeastSquares of_whole_numbers() {
  LeastSquares problem;
  problem.width = 2;
  for (std::uint32_t s = 0; s < kShards; ++s) {
    auto& xs = problem.x.emplace_back();
    auto& ys = problem.y.emplace_back();
    for (const auto& [a, b] : {std::pair(1, 1), {1, -1}, {-1, 1}, {1, 0}}) {
      xs.push_back({static_cast<double>(a), static_cast<double>(b)});
      ys.push_back(static_cast<double>(s) * a - 2 * b);
    }
  }
  return problem;
}

Point gradient_of_all(const LeastSquares& problem, const Point& w) {
  Point sum(problem.width);
  for (std::uint32_t s = 0; s < kShards; ++s) {
    const Point part = problem.gradient(s, 0, problem.rows(s), w);
    for (std::size_t i = 0; i < w.size(); ++i) sum[i] += part[i];
  }
  return sum;
}

// Clients that each make one step by all of their rows, of kinds of their own (E = 1, B = infinity).
TEST(Exact, FederatedAverageOfFullBatchesIsGradientDescent) {
  const LeastSquares problem = of_whole_numbers();
  LearningCase c{.algorithm = "fedavg:E=1", .exchange = "auto", .steps = 1, .passes = 3, .batch = 4};
  c.rule.rate = static_cast<float>(kRate);
  Point w(problem.width);
  for (std::uint32_t round = 0; round < c.passes; ++round) {
    const Point gradient = gradient_of_all(problem, w);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= kRate / kShards * gradient[i];
  }
  EXPECT_LE(distance(learn(problem, c).w, w), 1e-12);
}

// x <- x - rate * mean of g_i, x the mean of all x_i, whatever the weights are.
TEST(Exact, GossipMovesTheMeanByTheMeanGradient) {
  const LeastSquares problem = of_whole_numbers();
  const TemporaryFolder folder;
  const std::string path_of_four =
      folder.write("path", "0.75 0.25 0 0\n0.25 0.5 0.25 0\n0 0.25 0.5 0.25\n0 0 0.25 0.75\n");
  for (const std::string& graph : {std::string("complete"), path_of_four}) {
    LearningCase c{.algorithm = "dpsgd:" + graph, .exchange = "auto", .steps = 3};
    c.rule.rate = static_cast<float>(kRate);
    std::mutex mutex;
    std::map<std::uint32_t, Point> means, moves;  // By step.
    c.watch = [&](std::uint32_t, Step step, const Point& rows, const Point& gradient) {
      const std::lock_guard lock(mutex);
      Point &mean = means[step.index], &move = moves[step.index];
      mean.resize(rows.size()), move.resize(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        mean[i] += rows[i] / kShards;
        move[i] += gradient[i] / kShards;
      }
    };
    means[c.steps] = learn(problem, c).w;
    for (std::uint32_t step = 0; step < c.steps; ++step) {
      Point expected = means[step];
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= kRate * moves[step][i];
      EXPECT_LE(distance(means[step + 1], expected), 1e-12) << graph << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace thalweg
