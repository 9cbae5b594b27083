// SPEC T52.
#include "thalweg/semiring.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "exchange/loop_ranks_for_test.h"
#include "thalweg/count_min.h"

namespace thalweg {
namespace {

template <Semiring S>
Arithmetic arithmetic_of() {
  return Arithmetic::of(DataTypeOf<typename S::Value>::value, S::kReduction);
}

// Values for which a semiring's arithmetic is exact.
template <class S>
typename S::Value draw() {
  using T = typename S::Value;
  if constexpr (std::is_same_v<S, OrAnd>) {
    return *rc::gen::inRange(0, 2);
  } else if constexpr (std::is_same_v<S, PlusTimes<std::uint64_t>>) {
    return *rc::gen::arbitrary<std::uint64_t>();
  } else if constexpr (std::is_same_v<S, MaxTimes<double>>) {
    return *rc::gen::element(0.0, 1.0, 0.5, 0.25, 3.0, 0x1p-60);
  } else {
    const auto finite = rc::gen::map(rc::gen::inRange<std::int64_t>(-(1LL << 40), 1LL << 40),
                                     [](std::int64_t value) { return static_cast<T>(value); });
    return *rc::gen::weightedOneOf<T>(
        {{4, finite}, {1, rc::gen::just(S::zero())}, {1, rc::gen::just(S::one())}});
  }
}

template <class S>
class SemiringTest : public testing::Test {};
using Semirings =
    testing::Types<PlusTimes<std::uint64_t>, MinPlus<std::int64_t>, MinPlus<double>, MaxPlus<std::int64_t>,
                   MaxMin<std::int64_t>, MaxMin<double>, MaxTimes<double>, OrAnd>;
TYPED_TEST_SUITE(SemiringTest, Semirings);

TYPED_TEST(SemiringTest, KeepsTheLaws) {
  using S = TypeParam;
  EXPECT_TRUE(rc::check([] {
    const auto a = draw<S>(), b = draw<S>(), c = draw<S>();
    RC_ASSERT(S::add(a, b) == S::add(b, a));
    RC_ASSERT(S::add(S::add(a, b), c) == S::add(a, S::add(b, c)));
    RC_ASSERT(S::add(a, S::zero()) == a);
    RC_ASSERT(S::multiply(a, b) == S::multiply(b, a));
    RC_ASSERT(S::multiply(S::multiply(a, b), c) == S::multiply(a, S::multiply(b, c)));
    RC_ASSERT(S::multiply(a, S::one()) == a);
    RC_ASSERT(S::multiply(a, S::zero()) == S::zero());
    RC_ASSERT(S::multiply(a, S::add(b, c)) == S::add(S::multiply(a, b), S::multiply(a, c)));
  }));
}

// All kernels' reductions, in any order of arrival over any route.
TYPED_TEST(SemiringTest, SumsHaveTheSameBitsInAnyOrder) {
  using S = TypeParam;
  using T = typename S::Value;
  constexpr std::uint32_t kSemiringRanks = 6;
  EXPECT_TRUE(rc::check([] {
    std::vector<std::vector<T>> vectors(kSemiringRanks, std::vector<T>(9));
    for (auto& vector : vectors) {
      for (T& value : vector) value = draw<S>();
    }
    std::vector<T> sum(9, S::zero());
    for (const auto& vector : vectors) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = S::add(sum[i], vector[i]);
    }
    const auto order = *rc::gen::inRange<std::uint64_t>(0, 1000);
    for (std::size_t i = kSemiringRanks; i > 1; --i)
      std::swap(vectors[i - 1], vectors[splitmix(order + i) % i]);
    LoopRanks ranks(kSemiringRanks,
                    *rc::gen::element<std::string>("ring", "spread", "double-tree", "halving-doubling"),
                    order);
    ranks.all_reduce(arithmetic_of<S>(), vectors);
    for (const auto& vector : vectors)
      // NOLINTNEXTLINE(bugprone-suspicious-string-compare)
      RC_ASSERT(std::memcmp(vector.data(), sum.data(), sum.size() * sizeof(T)) == 0);
  }));
}

constexpr std::uint32_t kNodes = 60, kSemiringRanks = 4;

template <class T>
std::vector<Edge<T>> random_edges(std::uint64_t seed) {
  Random random(seed);
  std::vector<Edge<T>> edges;
  for (int e = 0; e < 200; ++e) {
    edges.push_back({static_cast<std::uint32_t>(random.below(kNodes)),
                     static_cast<std::uint32_t>(random.below(kNodes)),
                     static_cast<T>(1 + random.below(100))});
  }
  return edges;
}

// values + values * edges, again and again until nothing changes. Every rank has some of the edges, pushes
// along them, and pulls the sum.
template <class S>
std::vector<typename S::Value> closure(const std::vector<Edge<typename S::Value>>& edges,
                                       std::vector<typename S::Value> values) {
  using T = typename S::Value;
  LoopRanks ranks(kSemiringRanks, "ring");
  for (;;) {
    std::vector<std::vector<T>> sums(kSemiringRanks, values);
    for (std::uint32_t r = 0; r < kSemiringRanks; ++r) {
      const Block mine = part_of({0, edges.size()}, kSemiringRanks, r);
      push_edges<S>(std::span(edges).subspan(mine.begin, mine.count), values, sums[r]);
    }
    ranks.all_reduce(arithmetic_of<S>(), sums);
    if (sums[0] == values) return values;
    values = sums[0];
  }
}

TEST(MinPlusPushPull, FindsBellmanAndFordsShortestPaths) {
  using S = MinPlus<std::int64_t>;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto edges = random_edges<std::int64_t>(seed);
    std::vector<std::int64_t> start(kNodes, S::zero()), serial = start;
    start[0] = serial[0] = S::one();
    for (std::uint32_t round = 1; round < kNodes; ++round) {
      for (const auto& edge : edges) {
        if (serial[edge.from] == std::numeric_limits<std::int64_t>::max()) continue;
        serial[edge.to] = std::min(serial[edge.to], serial[edge.from] + edge.weight);
      }
    }
    EXPECT_EQ(closure<S>(edges, start), serial);
  }
}

TEST(MaxMinPushPull, FindsTheWidestPaths) {
  using S = MaxMin<std::int64_t>;
  const auto edges = random_edges<std::int64_t>(9);
  std::vector<std::int64_t> start(kNodes, S::zero());
  start[0] = S::one();
  const auto widest = closure<S>(edges, start);
  // As wide as w: reachable over edges that are at least w wide.
  for (std::int64_t width = 1; width <= 100; ++width) {
    std::vector<Edge<std::int32_t>> wide;
    for (const auto& edge : edges) {
      if (edge.weight >= width) wide.push_back({edge.from, edge.to, 1});
    }
    std::vector<std::int32_t> reached(kNodes);
    reached[0] = 1;
    reached = closure<OrAnd>(wide, reached);
    for (std::uint32_t node = 1; node < kNodes; ++node) EXPECT_EQ(widest[node] >= width, reached[node] == 1);
  }
}

// A hidden Markov model: the likelihood of each state by max-times, and the path by looking back.
struct Markov {
  static constexpr std::uint32_t kStates = 12, kSymbols = 5;
  double step[kStates][kStates], show[kStates][kSymbols];
  explicit Markov(std::uint64_t seed) {
    Random random(seed);
    for (auto& row : step) {
      for (double& p : row) p = random.unit();
    }
    for (auto& row : show) {
      for (double& p : row) p = random.unit();
    }
  }
  std::uint32_t best_before(const std::vector<double>& likely, std::uint32_t state) const {
    std::uint32_t best = 0;
    for (std::uint32_t s = 1; s < kStates; ++s) {
      if (likely[s] * step[s][state] > likely[best] * step[best][state]) best = s;
    }
    return best;
  }
};

TEST(MaxTimesPushPull, DecodesAsSerialViterbiDoes) {
  using S = MaxTimes<double>;
  const Markov model(3);
  Random random(4);
  std::vector<std::uint32_t> shown(40);
  for (auto& symbol : shown) symbol = static_cast<std::uint32_t>(random.below(Markov::kSymbols));
  LoopRanks ranks(kSemiringRanks, "recursive-doubling");
  std::vector<double> together(Markov::kStates), serial(Markov::kStates);
  std::vector<std::uint32_t> path_together, path_serial;
  for (std::uint32_t s = 0; s < Markov::kStates; ++s) together[s] = serial[s] = model.show[s][shown[0]];
  for (std::size_t t = 1; t < shown.size(); ++t) {
    std::vector<Edge<double>> edges;  // By source state, so that each rank has some states.
    std::vector<double> next(Markov::kStates);
    for (std::uint32_t from = 0; from < Markov::kStates; ++from) {
      for (std::uint32_t to = 0; to < Markov::kStates; ++to)
        edges.push_back({from, to, model.step[from][to]});
    }
    std::vector<std::vector<double>> sums(kSemiringRanks, std::vector<double>(Markov::kStates, S::zero()));
    for (std::uint32_t r = 0; r < kSemiringRanks; ++r) {
      const Block mine = part_of({0, edges.size()}, kSemiringRanks, r);
      push_edges<S>(std::span<const Edge<double>>(edges).subspan(mine.begin, mine.count), together, sums[r]);
    }
    ranks.all_reduce(arithmetic_of<S>(), sums);
    for (std::uint32_t s = 0; s < Markov::kStates; ++s) {
      path_together.push_back(model.best_before(together, s));
      path_serial.push_back(model.best_before(serial, s));
      next[s] = serial[path_serial.back()] * model.step[path_serial.back()][s] * model.show[s][shown[t]];
      sums[0][s] *= model.show[s][shown[t]];
    }
    serial = std::move(next);
    together = std::move(sums[0]);
    ASSERT_EQ(together, serial) << t;
  }
  EXPECT_EQ(path_together, path_serial);
  EXPECT_GT(*std::max_element(serial.begin(), serial.end()), 0.0);
}

TEST(CountMin, HasAPlaceForEachKey) {
  EXPECT_DEATH(CountMin(5, 0, 1), "at least one row and one column");
  EXPECT_DEATH(CountMin(0, 256, 1), "at least one row and one column");
}

TEST(CountMin, OfAllRanksIsTheSketchOfAllKeys) {
  constexpr std::uint32_t kDepth = 5, kWidth = 256;
  CountMin whole(kDepth, kWidth, 1);
  std::vector<std::uint64_t> truth(2000);
  std::vector<CountMin> parts(kSemiringRanks, CountMin(kDepth, kWidth, 1));
  Random random(2);
  constexpr std::uint64_t kAdded = 20000;
  for (std::uint64_t i = 0; i < kAdded; ++i) {
    const auto key = static_cast<std::uint64_t>(2000 * std::pow(random.unit(), 4));  // Low keys are frequent.
    ++truth[key];
    whole.add(key);
    parts[i % kSemiringRanks].add(key);
  }
  std::vector<std::vector<std::uint64_t>> counters;
  for (CountMin& part : parts) counters.emplace_back(part.counters().begin(), part.counters().end());
  LoopRanks(kSemiringRanks, "double-tree")
      .all_reduce(Arithmetic::of(DataType::kU64, Reduction::kSum), counters);
  std::copy(counters[2].begin(), counters[2].end(), parts[2].counters().begin());
  std::size_t far = 0;
  for (std::uint64_t key = 0; key < truth.size(); ++key) {
    ASSERT_EQ(parts[2].estimate(key), whole.estimate(key));
    ASSERT_GE(whole.estimate(key), truth[key]);
    far += static_cast<double>(whole.estimate(key) - truth[key]) > 2.7183 * kAdded / kWidth;
  }
  EXPECT_LE(far, truth.size() / 50);  // The bound is e^-5, 0.7 % of the keys.
}

}  // namespace
}  // namespace thalweg
