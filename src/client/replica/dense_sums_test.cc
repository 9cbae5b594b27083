#include "client/replica/dense_sums.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "client/group/group_threads_for_test.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kSumSteps = 3;

// Two buckets and more, a tensor larger than one, and small ones.
std::vector<TableSpec> tables() {
  std::vector<TableSpec> all;
  for (const std::uint64_t rows : {std::uint64_t{263'001}, std::uint64_t{5}, std::uint64_t{90'000},
                                   std::uint64_t{180'007}, std::uint64_t{1}}) {
    TableSpec table;
    table.kind = TableSpec::Kind::kDense;
    table.name = fmt::format("t{}", all.size());
    table.rows = rows, table.ranges = 1;
    table.rule.kind = RuleKind::kAdd;
    all.push_back(table);
  }
  return all;
}

std::vector<float> gradient(std::uint32_t rank, std::uint32_t step, std::uint16_t table, std::uint64_t rows) {
  std::uint32_t state = rank * 1000 + step * 10 + table;
  std::vector<float> values(rows);
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
  }
  return values;
}

struct Summed {
  std::vector<float> rows;
  std::string wrong;
  std::uint32_t rounds = 0;
};

// The last rank has a step less than the others, as at the end of a pass.
Summed sums_of(Group& group, const std::string& route, bool overlaps) {
  Summed out;
  const auto ranks = std::make_shared<ShardGroup>();
  ranks->group = std::move(group);
  ranks->overlaps = overlaps;
  if (!route.empty()) ranks->route = *RouteChoice::named(route);
  Replica replica = *Replica::make(tables());
  const std::uint32_t last = ranks->size() - 1;
  {
    DenseSums sums(ranks);
    do {
      const bool has_step = out.rounds < kSumSteps - (ranks->rank() == last ? 1 : 0);
      const bool asks = ranks->rank() == 1 && out.rounds == 2;
      for (std::uint16_t t = 5; has_step && t-- > 0;) {
        const std::uint64_t rows = replica.spec(TableId{t}).rows;
        sums.pushed(replica, TableId{t},
                    {true, Keys::block(0, rows), Rows(gradient(ranks->rank(), out.rounds, t, rows))}, asks);
      }
      Task<Status> sum = sums.sum(replica, {has_step, asks, 1});
      sum.handle().resume();
      const Status status = sum.take();
      if (!status.ok()) out.wrong = status.message();
      if (out.rounds++ == 1 && sums.closing()) out.wrong = "closes although nobody has asked";
    } while (out.wrong.empty() && sums.any_has_step());
    if (!sums.closing()) out.wrong = "does not close although rank 1 has asked";
  }
  out.rows.resize(replica.dense_floats());
  replica.read_dense(out.rows);
  group = std::move(*ranks->group);
  return out;
}

float expected(std::uint32_t ranks, const std::vector<std::vector<float>>& gradients, std::size_t i) {
  float sum = 0;
  for (std::size_t g = 0; g < gradients.size(); ++g) {
    if (g != ranks * kSumSteps - 1) sum += gradients[g][i];  // The last rank has no last step.
  }
  return sum;
}

std::string check(Group& group, const std::string& route) {
  const Summed late = sums_of(group, route, false), early = sums_of(group, route, true);
  if (!late.wrong.empty() || !early.wrong.empty()) return late.wrong + early.wrong;
  if (late.rounds != kSumSteps + 1 || early.rounds != kSumSteps + 1)
    return "not a round a step, and one at the end";
  std::size_t row = 0;
  for (std::uint16_t t = 0; t < 5; ++t) {
    const std::uint64_t rows = tables()[t].rows;
    std::vector<std::vector<float>> all;
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      for (std::uint32_t step = 0; step < kSumSteps; ++step) all.push_back(gradient(rank, step, t, rows));
    }
    for (std::uint64_t i = 0; i < rows; ++i, ++row) {
      if (std::abs(late.rows[row] - expected(group.size(), all, i)) > 1e-5f)
        return fmt::format("{}: row {} of table {} is wrong", route, i, t);
    }
  }
  return late.rows == early.rows ? "" : route + ": what travels early has other bits";
}

TEST(DenseSums, HaveTheSameBitsWhetherTheyTravelEarlyOrNot) {
  for (const char* route : {"", "ring", "halving-doubling"}) {
    const std::uint32_t ranks = route == std::string("ring") ? 3 : 4;
    EXPECT_EQ(on_threads(ranks, [&](Group& group) { return check(group, route); }), "");
  }
}

TEST(DenseSums, GoByTcpToo) {
  EXPECT_EQ(on_joined(3, GroupTransport::kTcp, [&](Group& group) { return check(group, "ring"); }), "");
}

}  // namespace
}  // namespace thalweg
