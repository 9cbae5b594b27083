// A reduction that does not commute: contributions combine in the order of ranks, or the route is refused.
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "exchange/exchange_case_for_test.h"
#include "exchange/loop_fabric_for_test.h"

namespace thalweg {
namespace {

// x -> slope x + offset over the integers modulo 2^64, combined by doing `into` first and `from` afterwards.
struct Affine {
  std::uint64_t slope = 1, offset = 0;
  bool operator==(const Affine&) const = default;
};

void compose(void* into, const void* from, std::size_t count, void*) {
  for (std::size_t i = 0; i < count; ++i) {
    Affine first, then;
    std::memcpy(&first, static_cast<std::byte*>(into) + i * sizeof first, sizeof first);
    std::memcpy(&then, static_cast<const std::byte*>(from) + i * sizeof then, sizeof then);
    first = {then.slope * first.slope, then.slope * first.offset + then.offset};
    std::memcpy(static_cast<std::byte*>(into) + i * sizeof first, &first, sizeof first);
  }
}

constexpr Monoid kComposition{"composition", sizeof(Affine), compose, nullptr, false};

Affine given(std::uint32_t rank, std::uint64_t element) {
  return {splitmix(rank * 31 + element * 7) | 1, splitmix(rank + element * 1000)};
}

Affine composed(std::uint32_t ranks, std::uint64_t element) {
  Affine all = given(0, element);
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    const Affine next = given(rank, element);
    compose(&all, &next, 1, nullptr);
  }
  return all;
}

// Where vectors lie: apart, in memory that all see, or in each rank's own, staged or fetched from there.
enum class Memory : std::uint8_t { kApart, kShared, kStaged, kFetched };

struct OrderCase {
  Operation operation{};
  std::uint32_t ranks = 1;
  std::uint64_t count = 0;
  std::uint32_t root = 0;
  bool in_place = false;
  Memory memory{};
  std::uint64_t seed = 0;
};

std::byte* bytes(std::vector<Affine>& vector, std::uint64_t at = 0) {
  return static_cast<std::byte*>(static_cast<void*>(vector.data() + at));
}

void run_case(const OrderCase& c, const Plan& plan) {
  SCOPED_TRACE(std::string(operation_name(c.operation)) + " by " + plan.name() + " of " +
               std::to_string(c.count) + " among " + std::to_string(c.ranks) + ", root " +
               std::to_string(c.root) + (c.in_place ? ", in place" : "") + ", memory " +
               std::to_string(static_cast<int>(c.memory)));
  LoopNetwork network(c.seed, 256, true);
  network.shares_memory = c.memory == Memory::kShared;
  network.stages = c.memory == Memory::kStaged || c.memory == Memory::kFetched;
  network.fetches = c.memory == Memory::kFetched;
  std::vector<std::vector<Affine>> in(c.ranks), out(c.ranks);
  std::vector<std::unique_ptr<Exchange>> ranks;
  for (std::uint32_t r = 0; r < c.ranks; ++r) {
    const Block own = part_of({0, c.count}, c.ranks, r);
    for (std::uint64_t e = 0; e < c.count; ++e) in[r].push_back(given(r, e));
    out[r].resize(c.operation == Operation::kReduceScatter ? own.count : c.count);
    Call call;
    call.operation = c.operation;
    call.arithmetic = Arithmetic::of(kComposition);
    call.count = c.count;
    call.root = c.root;
    call.in = bytes(in[r]);
    call.out = bytes(out[r]);
    if (c.in_place) call.out = bytes(in[r], c.operation == Operation::kReduceScatter ? own.begin : 0);
    if (c.operation == Operation::kReduce && r != c.root) call.out = nullptr;
    ranks.push_back(std::make_unique<Exchange>(std::move(call), plan, r, c.ranks));
  }
  ASSERT_TRUE(run_all(network, ranks)) << "stuck: " << ranks[0]->waits_in();
  for (std::uint32_t r = 0; r < c.ranks; ++r) {
    ASSERT_TRUE(ranks[r]->status().ok()) << ranks[r]->status().message();
    if (c.operation == Operation::kReduce && r != c.root) continue;
    Block wanted{0, c.count};
    if (c.operation == Operation::kReduceScatter) wanted = part_of(wanted, c.ranks, r);
    for (std::uint64_t i = 0; i < wanted.count; ++i) {
      const Affine& found = c.in_place ? in[r][wanted.begin + i] : out[r][i];
      ASSERT_EQ(found, composed(c.ranks, wanted.begin + i)) << "rank " << r << " element " << i;
    }
  }
}

class RankOrder : public testing::TestWithParam<std::string> {};

TEST_P(RankOrder, IsKeptOrTheRouteIsRefused) {
  std::uint64_t seed = 1;
  for (const Operation operation : {Operation::kAllReduce, Operation::kReduce, Operation::kReduceScatter}) {
    for (const std::uint32_t ranks : {2, 3, 4, 5, 7, 8, 16}) {
      Plan plan = plan_for_test(GetParam(), ranks);
      if (!check_plan(plan, operation, ranks).ok()) continue;
      const Status kept = check_order(plan, operation);
      EXPECT_EQ(kept.ok(), keeps_order(operation, *plan.route));
      if (!kept.ok()) {
        EXPECT_EQ(kept.code(), Code::kUsage);
        const char* const able =
            operation == Operation::kAllReduce
                ? "expected one of star, spread, chain, binomial-tree, recursive-doubling, shared"
            : operation == Operation::kReduce ? "expected one of star, chain, binomial-tree, shared"
                                              : "expected one of spread, shared";
        EXPECT_NE(kept.message().find(able), kept.message().npos) << kept.message();
        continue;
      }
      for (const std::uint64_t count : {1, 2, 17, 100}) {
        for (const std::uint64_t piece : {0, 3}) {
          plan.piece_elements = piece;
          plan.channels = plan.route == &routes::kShared ? 1 : 1 + static_cast<std::uint32_t>(seed % 3);
          if (operation == Operation::kReduceScatter && plan.route != &routes::kSpread) plan.channels = 1;
          run_case({operation, ranks, count, static_cast<std::uint32_t>(seed % ranks), seed % 2 == 0,
                    static_cast<Memory>(seed / 2 % 4), seed},
                   plan);
          if (HasFatalFailure()) return;
          ++seed;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Routes, RankOrder, testing::ValuesIn(routes_for_test()), [](const auto& route) {
  std::string plain = route.param;
  for (char& c : plain) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return plain;
});

TEST(OrderedMonoid, AMonoidThatCommutesGoesAnyWay) {
  Monoid commutes = kComposition;
  commutes.commutative = true;
  EXPECT_TRUE(Arithmetic::of(kComposition).is_ordered());
  EXPECT_FALSE(Arithmetic::of(commutes).is_ordered());
  EXPECT_FALSE(Arithmetic::of(DataType::kF32, Reduction::kSum).is_ordered());
}

TEST(OrderedMonoid, CombinesInPlaceFromEitherSide) {
  const Arithmetic arithmetic = Arithmetic::of(kComposition);
  std::vector<Affine> a, b;
  for (std::uint64_t e = 0; e < 5000; ++e) {  // More than are copied at once.
    a.push_back(given(0, e));
    b.push_back(given(1, e));
  }
  std::vector<Affine> into_a = a, into_b = b, elsewhere(a.size());
  arithmetic.apply(bytes(into_a), bytes(into_a), bytes(b), a.size());
  arithmetic.apply(bytes(into_b), bytes(a), bytes(into_b), a.size());
  arithmetic.apply(bytes(elsewhere), bytes(a), bytes(b), a.size());
  for (std::uint64_t e = 0; e < a.size(); ++e) ASSERT_EQ(into_a[e], composed(2, e));
  EXPECT_EQ(into_b, into_a);
  EXPECT_EQ(elsewhere, into_a);
}

}  // namespace
}  // namespace thalweg
