// Every operation over every route that it supports, on a fabric that interrupts everywhere.
#include "exchange/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "exchange/exchange_case_for_test.h"
#include "exchange/loop_fabric_for_test.h"
#include "exchange/plan/layout.h"
#include "exchange/route/lanes.h"

namespace thalweg {
namespace {

using Vector = std::vector<std::int64_t>;

std::int64_t contribution(std::uint32_t rank, std::uint64_t element) {
  return static_cast<std::int64_t>(splitmix(rank * 1000003ULL + element) % 2001) - 1000;
}

std::uint64_t part_begin(std::uint64_t count, std::uint32_t ranks, std::uint32_t rank) {
  return part_of({0, count}, ranks, rank).begin;
}

struct Case {
  Operation operation{};
  std::string route;
  std::uint32_t ranks = 1;
  std::uint64_t count = 0;
  std::uint64_t piece = 0;
  std::uint32_t channels = 1;
  bool in_place = false;
  bool chaos = true;
  bool ordinary = false;  // Memory that peers do not see, but for staging areas.
  bool fetches = false;
  CopyWay copies = CopyWay::kFetch;  // What rank 0 says.
  Reduction reduction = Reduction::kSum;
};

// What each rank passes, and what it must find.
struct RankData {
  Vector in, out, expected;
};

RankData neighbours_data(const Case& c, std::uint32_t rank) {
  RankData data;
  for (std::uint64_t e = 0; e < c.count; ++e) data.in.push_back(contribution(rank, e));
  for (const std::uint32_t r : ring_neighbours(rank, c.ranks)) {
    for (std::uint64_t e = 0; e < c.count; ++e) data.expected.push_back(contribution(r, e));
  }
  data.out.assign(data.expected.size(), -7);
  return data;
}

RankData data_of(const Case& c, const Plan& plan, std::uint32_t rank, std::uint32_t root) {
  if (c.operation == Operation::kNeighbours) return neighbours_data(c, rank);
  const std::uint32_t workers = c.ranks - plan.servers;
  const auto part = [&](std::uint32_t r) { return part_of({0, c.count}, c.ranks, r); };
  Vector full(c.count), sum(c.count), gathered(c.count);
  for (std::uint64_t e = 0; e < c.count; ++e) {
    full[e] = contribution(rank, e);
    for (std::uint32_t r = 0; r < workers; ++r) sum[e] += contribution(r, e);
    if (c.reduction == Reduction::kMean) sum[e] /= workers;
  }
  for (std::uint32_t r = 0; r < c.ranks; ++r) {
    for (std::uint64_t e = part(r).begin; e < part(r).end(); ++e) gathered[e] = contribution(r, e);
  }
  const auto cut = [&](const Vector& v, std::uint32_t r) {
    return Vector(v.begin() + static_cast<std::ptrdiff_t>(part(r).begin),
                  v.begin() + static_cast<std::ptrdiff_t>(part(r).end()));
  };
  RankData data;
  switch (c.operation) {
    case Operation::kAllReduce:
      if (rank < workers) data.expected = sum;
      data.in = full;
      break;
    case Operation::kReduce:
      data.in = full;
      if (rank == root) data.expected = sum;
      break;
    case Operation::kReduceScatter:
      data.in = full;
      data.expected = cut(sum, rank);
      break;
    case Operation::kAllGather:
      data.in = cut(full, rank);
      data.expected = gathered;
      break;
    case Operation::kBroadcast:
      for (std::uint64_t e = 0; e < c.count; ++e) data.expected.push_back(contribution(root, e));
      data.in = rank == root ? full : Vector(c.count);
      break;
    case Operation::kGather:
      data.in = cut(full, rank);
      if (rank == root) data.expected = gathered;
      break;
    case Operation::kScatter:
      data.in = rank == root ? full : Vector();
      for (std::uint64_t e = part(rank).begin; e < part(rank).end(); ++e) {
        data.expected.push_back(contribution(root, e));
      }
      break;
    case Operation::kAllToAll:
      data.in = full;
      for (std::uint32_t r = 0; r < c.ranks; ++r) {
        for (std::uint64_t e = part(rank).begin; e < part(rank).end(); ++e) {
          data.expected.push_back(contribution(r, e));
        }
      }
      break;
    case Operation::kBarrier:
    case Operation::kNeighbours:
      break;
    case Operation::kPointToPoint:
      if (rank == root) data.in = full;
      if (rank == (root + 1) % c.ranks) {
        for (std::uint64_t e = 0; e < c.count; ++e) data.expected.push_back(contribution(root, e));
      }
      break;
  }
  data.out.assign(data.expected.size(), -7);
  return data;
}

bool can_be_in_place(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kBroadcast ||
         operation == Operation::kAllToAll;
}

void run_case(const Case& c, std::uint64_t seed) {
  SCOPED_TRACE(std::string(operation_name(c.operation)) + " by " + c.route + " ranks " +
               std::to_string(c.ranks) + " count " + std::to_string(c.count) + " piece " +
               std::to_string(c.piece) + " channels " + std::to_string(c.channels) +
               (c.in_place ? " in place" : "") + " seed " + std::to_string(seed));
  Plan plan = plan_for_test(c.route, c.ranks);
  plan.piece_elements = c.piece;
  plan.channels = c.channels;
  if (c.ranks == 1) plan.servers = 0;
  const Status checked = check_plan(plan, c.operation, c.ranks);
  ASSERT_TRUE(checked.ok()) << checked.message();
  const std::uint32_t root = static_cast<std::uint32_t>(seed % (c.ranks - plan.servers));
  LoopNetwork network(seed, c.chaos ? 256 : std::size_t{1} << 30, c.chaos);
  network.shares_memory = !c.ordinary && seed % 3 != 0;
  network.stages = c.ordinary;
  network.fetches = c.fetches;
  network.borrowed = c.ordinary && seed % 2 == 0;
  std::vector<RankData> data;
  std::vector<std::unique_ptr<Exchange>> ranks;
  for (std::uint32_t r = 0; r < c.ranks; ++r) data.push_back(data_of(c, plan, r, root));
  for (std::uint32_t r = 0; r < c.ranks; ++r) {
    Call call;
    call.operation = c.operation;
    call.arithmetic = Arithmetic::of(DataType::kI64, c.reduction);
    call.count = c.count;
    call.root = root;
    call.peer = (root + 1) % c.ranks;
    if (r == 0) call.copies = c.copies;
    const auto bytes = [](Vector& v) { return static_cast<std::byte*>(static_cast<void*>(v.data())); };
    if (c.in_place && !data[r].expected.empty()) {
      data[r].out = data[r].in;
      call.in = bytes(data[r].out);
    } else {
      call.in = data[r].in.empty() ? nullptr : bytes(data[r].in);
    }
    call.out = data[r].expected.empty() ? nullptr : bytes(data[r].out);
    if (c.operation == Operation::kNeighbours) call.neighbours = ring_neighbours(r, c.ranks);
    if (c.operation == Operation::kAllToAll) {
      const std::uint64_t mine = part_of({0, c.count}, c.ranks, r).count;
      for (std::uint32_t p = 0; p <= c.ranks; ++p) {
        call.parts.push_back(p == c.ranks ? c.count : part_begin(c.count, c.ranks, p));
        call.parts_out.push_back(p * mine);
      }
      if (c.in_place) data[r].out = data[r].in;
      if (c.in_place) data[r].out.resize(std::max(data[r].in.size(), data[r].expected.size()));
      if (c.in_place) call.in = call.out = bytes(data[r].out);
    }
    ranks.push_back(std::make_unique<Exchange>(std::move(call), plan, r, c.ranks));
  }
  ASSERT_TRUE(run_all(network, ranks)) << "stuck: " << ranks[0]->waits_in();
  for (std::uint32_t r = 0; r < c.ranks; ++r) {
    ASSERT_TRUE(ranks[r]->status().ok()) << ranks[r]->status().message();
    data[r].out.resize(data[r].expected.size());
    ASSERT_EQ(data[r].out, data[r].expected) << "rank " << r;
  }
  ASSERT_EQ(network.fetched_outside, 0u) << "memory of a rank that had ended was read";
  const bool by_tree = c.operation == Operation::kBroadcast || c.ranks > 16;
  if (!c.ordinary || by_tree || c.count < 1000) return;
  const bool sent = c.copies == CopyWay::kSend && c.ranks == 2;
  if (!sent) {
    for (const auto& rank : ranks) ASSERT_LT(rank->bytes_sent(), c.count) << "vectors went as messages";
  } else {
    ASSERT_GE(ranks[0]->bytes_sent() + ranks[1]->bytes_sent(), c.count / 2 * sizeof(std::int64_t));
  }
  const bool fetched =
      c.fetches && c.copies == CopyWay::kFetch && c.ranks == 2 && c.operation != Operation::kReduce;
  ASSERT_EQ(network.fetches_done > 0, fetched);
}

class RouteTest : public testing::TestWithParam<const char*> {};

TEST_P(RouteTest, EveryOperationAndSizeIsExact) {
  const std::string name = GetParam();
  std::uint64_t seed = 1;
  for (std::size_t o = 0; o < kOperations; ++o) {
    const auto operation = static_cast<Operation>(o);
    for (const std::uint32_t ranks : {1, 2, 3, 4, 5, 7, 8, 16}) {
      const Plan plan = plan_for_test(name, ranks);
      if (plan.servers >= ranks || !check_plan(plan, operation, ranks).ok()) continue;
      for (const std::uint64_t count : {0, 1, 2, 15, 17, 100}) {
        for (const std::uint64_t piece : {0, 3}) {
          Case c{operation, name, ranks, count, piece};
          c.in_place = can_be_in_place(operation) && seed % 2 == 0;
          const bool by_part = operation != Operation::kAllReduce && name.find("doubling") != name.npos;
          c.channels = by_part || name == "shared" ? 1 : 1 + static_cast<std::uint32_t>(seed % 3);
          c.reduction = seed % 5 == 0 ? Reduction::kMean : Reduction::kSum;
          run_case(c, seed++);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Staging areas hold 32768 elements, of each of N parts 1/N; two ranks fetch four times as many at a time.
TEST(OrdinaryMemory, IsExact) {
  std::uint64_t seed = 1;
  for (const Operation operation : {Operation::kAllReduce, Operation::kReduce, Operation::kReduceScatter,
                                    Operation::kAllGather, Operation::kBroadcast}) {
    for (const std::uint32_t ranks : {2, 3, 4, 16, 17}) {
      for (const std::uint64_t count : {0, 1, 100, 32768, 32769, 150'001}) {
        if (count > 100 && (ranks > 4 || operation == Operation::kBroadcast)) continue;
        for (const bool fetches : {false, true}) {
          for (const bool in_place : {false, true}) {
            if (in_place && !can_be_in_place(operation)) continue;
            Case c{operation, "shared", ranks, count};
            c.ordinary = true;
            c.fetches = fetches;
            c.copies = static_cast<CopyWay>(seed % 3);
            c.in_place = in_place;
            c.reduction = seed % 5 == 0 ? Reduction::kMean : Reduction::kSum;
            run_case(c, seed++);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Two ranks that sum up in place out of ordinary memory.
struct InOrdinaryMemory {
  explicit InOrdinaryMemory(std::uint64_t count) : buffers(2, Vector(count, 3)) {
    network.stages = network.fetches = true;
    for (std::uint32_t r = 0; r < 2; ++r) {
      Call call;
      call.operation = Operation::kAllReduce;
      call.arithmetic = Arithmetic::of(DataType::kI64, Reduction::kSum);
      call.count = count;
      call.in = call.out = static_cast<std::byte*>(static_cast<void*>(buffers[r].data()));
      ranks.push_back(std::make_unique<Exchange>(call, plan, r, 2));
    }
  }
  const Plan plan = plan_for_test("shared", 2);
  LoopNetwork network{1, 1 << 20, false};
  std::vector<Vector> buffers;
  std::vector<std::unique_ptr<Exchange>> ranks;
};

// What was added before is not added again when the peer can be read once more.
TEST(OrdinaryMemory, ARankThatCannotBeReadIsWaitedForByName) {
  for (const std::uint64_t count : {100, 100'000}) {
    bool succeeded = false;
    for (std::uint64_t most = 0; !succeeded; ++most) {
      InOrdinaryMemory two(count);
      two.network.fetches_max = most;
      succeeded = run_all(two.network, two.ranks);
      if (succeeded) break;
      two.network.fetches_max = ~std::uint64_t{0};
      EXPECT_FALSE(run_all(two.network, two.ranks)) << most;
      std::uint32_t stuck = 0;
      for (std::uint32_t r = 0; r < 2; ++r) {
        if (two.ranks[r]->done()) continue;
        EXPECT_EQ(two.ranks[r]->waits_for(), 1 - r);
        const bool reads = two.ranks[r]->waits_in().find("read the memory of rank") != std::string::npos;
        stuck += reads ? 1 : 0;
      }
      EXPECT_GE(stuck, 1u) << most;
    }
    EXPECT_TRUE(succeeded);
  }
}

TEST(OrdinaryMemory, AStagingAreaThatCannotBeIsRefused) {
  for (const std::uint64_t count : {100, 100'000}) {
    InOrdinaryMemory two(count);
    two.network.fetches = false;
    two.network.blind = true;
    ASSERT_TRUE(run_all(two.network, two.ranks));
    EXPECT_EQ(two.ranks[0]->status().code(), Code::kRefused);
    EXPECT_NE(two.ranks[0]->status().message().find("rank 1 says that its staging area is at byte"),
              std::string::npos)
        << two.ranks[0]->status().message();
  }
}

// SPEC T5: a ring of five takes four messages to scatter and four to gather, and rank r owns part r+1
// between.
TEST(Ring, OfFiveTakesFourMessagesEachWay) {
  const Plan plan = plan_for_test("ring", 5);
  for (std::uint32_t r = 0; r < 5; ++r) {
    Work work;
    work.operation = Operation::kAllReduce;
    work.whole = {0, 50};
    std::vector<LaneStep> steps;
    for (Lane lane = ring_lane({.size = 5, .me = r}, work); lane.next();) steps.push_back(lane.step());
    const auto count = [&steps](LaneStep::Kind kind) {
      return std::count_if(steps.begin(), steps.end(), [kind](const LaneStep& s) { return s.kind == kind; });
    };
    EXPECT_EQ(count(LaneStep::Kind::kReduce), 4);
    EXPECT_EQ(count(LaneStep::Kind::kReceive), 4);
    EXPECT_EQ(count(LaneStep::Kind::kSend), 8);
    const auto finished = std::find_if(steps.begin(), steps.end(),
                                       [](const LaneStep& s) { return s.kind == LaneStep::Kind::kFinish; });
    ASSERT_NE(finished, steps.end());
    EXPECT_EQ(finished->block, part_of({0, 50}, 5, (r + 1) % 5));
  }
}

TEST(Exchange, NamesBothRanksThatCallDifferentOperations) {
  const Plan plan = plan_for_test("ring", 2);
  LoopNetwork network(1, 1 << 20, false);
  std::vector<std::unique_ptr<Exchange>> ranks;
  std::vector<Vector> buffers(2, Vector(8));
  for (std::uint32_t r = 0; r < 2; ++r) {
    Call call;
    call.operation = Operation::kAllReduce;
    call.arithmetic = Arithmetic::of(DataType::kI64, Reduction::kSum);
    call.count = r == 0 ? 8 : 7;
    call.in = call.out = static_cast<std::byte*>(static_cast<void*>(buffers[r].data()));
    ranks.push_back(std::make_unique<Exchange>(call, plan, r, 2, 12));
  }
  ASSERT_TRUE(run_all(network, ranks));
  EXPECT_EQ(ranks[0]->status().code(), Code::kRefused);
  EXPECT_NE(ranks[0]->status().message().find("rank 1 calls all-reduce #12 of 7"), std::string::npos)
      << ranks[0]->status().message();
}

TEST(Barrier, NobodyLeavesBeforeAllHaveCome) {
  for (const std::string& name : routes_for_test()) {
    for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 8u, 9u}) {
      const Plan plan = plan_for_test(name, ranks);
      if (!check_plan(plan, Operation::kBarrier, ranks).ok()) continue;
      for (std::uint32_t late = 0; late < ranks; ++late) {
        LoopNetwork network(late, 1 << 20, false);
        std::vector<std::unique_ptr<Exchange>> all;
        for (std::uint32_t r = 0; r < ranks; ++r) {
          Call call;
          call.operation = Operation::kBarrier;
          all.push_back(std::make_unique<Exchange>(call, plan, r, ranks));
        }
        for (std::uint32_t i = 0; i < 4 * ranks * ranks; ++i) {
          const std::uint32_t rank = i % ranks;
          if (rank == late) continue;
          LoopFabric fabric(network, rank);
          ASSERT_FALSE(all[rank]->advance(fabric))
              << name << ": rank " << rank << " of " << ranks << " left before rank " << late << " had come";
        }
        ASSERT_TRUE(run_all(network, all)) << name;
      }
    }
  }
}

TEST(Exchange, SaysWhomItWaitsFor) {
  const Plan plan = plan_for_test("ring", 3);
  LoopNetwork network(1, 1 << 20, false);
  LoopFabric fabric(network, 0);
  Call call;
  call.operation = Operation::kAllReduce;
  call.count = 30;
  std::vector<float> buffer(30);
  call.in = call.out = static_cast<std::byte*>(static_cast<void*>(buffer.data()));
  Exchange exchange(call, plan, 0, 3);
  EXPECT_FALSE(exchange.advance(fabric));
  EXPECT_EQ(exchange.waits_for(), 2u);
  EXPECT_EQ(exchange.waits_in(), "lane 0 step 1: receive 10 elements at 20 from rank 2");
}

TEST(Plan, RefusesWhatItsRanksCannotDo) {
  const auto message = [](const std::string& name, Operation operation, std::uint32_t ranks) {
    return check_plan(*parse_route(name), operation, ranks).message();
  };
  EXPECT_EQ(message("ring", Operation::kAllReduce, 4), "");
  EXPECT_NE(message("ring", Operation::kGather, 4).find("gather does not go this way"), std::string::npos);
  EXPECT_NE(message("servers:4", Operation::kAllReduce, 4).find("leave no worker"), std::string::npos);
  for (const char* route : {"servers:1", "byteps:1"})
    EXPECT_NE(message(route, Operation::kAllReduce, 1).find("1 servers leave no worker among 1 rank"),
              std::string::npos);
  EXPECT_NE(message("hierarchical", Operation::kAllReduce, 4).find("multiply to the 4 ranks"),
            std::string::npos);
  EXPECT_EQ(message("servers:1", Operation::kBarrier, 4), "");
  for (const char* route : {"servers:2", "byteps:1"})
    EXPECT_NE(message(route, Operation::kBarrier, 4).find("would not wait for servers"), std::string::npos);
  EXPECT_NE(parse_route("wheel").status().message().find("expected one of star"), std::string::npos);
  EXPECT_NE(parse_route("tree:x").status().message().find("tree:N"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Exchange, RouteTest,
    testing::Values("star", "servers:1", "servers:3", "spread", "chain", "ring", "bidirectional-ring",
                    "rings", "binomial-tree", "tree:2", "tree:3", "double-tree", "recursive-doubling",
                    "halving-doubling", "hierarchical", "hierarchical by trees",
                    "hierarchical by halving, rings, trees", "hierarchical by doubling, trees, halving",
                    "hierarchical of unequal groups", "hierarchical of unequal groups by halving, rings",
                    "hierarchical of unequal groups by rings, halving, trees",
                    "hierarchical of unequal groups by doubling, trees", "packed-trees", "shared", "byteps:0",
                    "byteps:2", "byteps:9"),
    [](const auto& route) {
      std::string name = route.param;
      for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace thalweg
