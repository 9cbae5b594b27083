// Ranks of one machine whose vectors are in memory of their own: read by the system, or staged where it may
// not.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <mutex>
#include <numeric>

#include "base/random.h"
#include "client/group/group_routes.h"
#include "client/group/group_threads_for_test.h"
#include "client/group/live_ranks_for_test.h"
#include "exchange/matrix_ranks_for_test.h"
#include "net/socket/reserved_port_for_test.h"

namespace thalweg {
namespace {

GroupOptions options_for(std::uint32_t ranks, bool reads) {
  GroupOptions options;
  options.size = ranks;
  options.transport = GroupTransport::kShm;
  options.reads_memory = reads;
  return options;
}

std::vector<float> contribution(std::uint32_t rank, std::size_t count) {
  Random random(rank + 1);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.unit()) - 0.5F;
  return values;
}

// Every type, reduction and size of the matrix, by the route through memory.
TEST(GroupMemory, OrdinaryMemoryIsExact) {
  for (const std::uint32_t ranks : {2U, 3U}) {
    for (const bool reads : {false, true}) {
      LiveRanks live = LiveRanks::joined(ranks, GroupTransport::kShm, reads);
      MatrixRanks matrix_ranks(ranks,
                               [&live](MatrixRanks::Exchanges exchanges) { return live.run(exchanges); });
      std::uint64_t cases = 0;
      ExchangeMatrix matrix(ranks, ExchangeMatrix::Density::kTwoEach);
      EXPECT_EQ(matrix.each([&](const MatrixCase& c) {
        if (c.plan.route != &routes::kShared) return std::string();
        ++cases;
        return matrix_ranks.run(c);
      }),
                "");
      EXPECT_GT(cases, 100U);
    }
  }
}

// What the group chooses itself, whatever the memory: sums have the same bits.
TEST(GroupMemory, SumsHaveTheSameBitsInAnyMemory) {
  constexpr std::size_t kCount = 200'003;
  for (const std::uint32_t ranks : {2U, 4U}) {
    std::vector<std::vector<float>> sums;
    std::mutex mutex;
    for (const bool reads : {false, true}) {
      for (const bool ordinary : {false, true}) {
        const auto sum_up = [&](Group& group) -> std::string {
          Result<std::span<float>> shared = group.allocate<float>(kCount);
          if (!shared) return shared.status().message();
          std::vector<float> own = contribution(group.rank(), kCount);
          std::copy(own.begin(), own.end(), shared->begin());
          const std::span<float> data = ordinary ? std::span<float>(own) : *shared;
          if (Status s = group.all_reduce(data); !s.ok()) return s.message();
          const std::lock_guard lock(mutex);
          sums.emplace_back(data.begin(), data.end());
          return {};
        };
        ASSERT_EQ(on_joined(options_for(ranks, reads), sum_up), "");
      }
    }
    ASSERT_EQ(sums.size(), 4 * ranks);
    for (const auto& sum : sums) {
      EXPECT_EQ(std::memcmp(sum.data(), sums[0].data(), kCount * sizeof(float)), 0);
    }
  }
}

// Operations that follow each other, and that run side by side, each with staging areas of their own.
std::string run_many(Group& group) {
  constexpr std::size_t kCount = 120'000;
  const auto n = static_cast<std::int64_t>(group.size()), me = static_cast<std::int64_t>(group.rank());
  const auto sum_at = [n](std::int64_t i) { return n * i + n * (n - 1) / 2; };
  std::vector<std::int64_t> in(kCount), out(kCount);
  std::iota(in.begin(), in.end(), me);
  std::vector<std::vector<std::int64_t>> many(6, in);
  std::vector<GroupWork> works;
  for (auto& data : many) works.push_back(group.all_reduce_async(std::span(data)));
  for (GroupWork& work : works) {
    if (Status s = work.wait(); !s.ok()) return s.message();
  }
  for (int round = 0; round < 3; ++round) {
    const Group::Part part = group.own_part(kCount);
    std::vector<std::int64_t> own(part.count);
    if (Status s = group.reduce_scatter<std::int64_t>(in, own); !s.ok()) return s.message();
    if (Status s = group.all_gather<std::int64_t>(own, out); !s.ok()) return s.message();
    many.push_back(out);
    if (Status s =
            group.reduce<std::int64_t>(in, group.rank() == 1 ? std::span(out) : std::span<std::int64_t>(), 1);
        !s.ok())
      return s.message();
    if (Status s = group.broadcast(std::span(out), 1); !s.ok()) return s.message();
    many.push_back(out);
  }
  for (const auto& data : many) {
    for (std::size_t i = 0; i < kCount; ++i) {
      if (data[i] != sum_at(static_cast<std::int64_t>(i)))
        return "element " + std::to_string(i) + " is wrong";
    }
  }
  return {};
}

TEST(GroupMemory, OperationsFollowAndOverlap) {
  for (const std::uint32_t ranks : {2U, 3U}) {
    for (const bool reads : {false, true}) EXPECT_EQ(on_joined(options_for(ranks, reads), run_many), "");
  }
}

// A rank's vectors are here or there from one operation to the next, so that some stage what others need
// before they have met, and others do not.
std::string sum_from_anywhere(Group& group) {
  constexpr std::size_t kMost = 150'000;
  const auto n = static_cast<std::int64_t>(group.size()), me = static_cast<std::int64_t>(group.rank());
  Result<std::span<std::int64_t>> shared = group.allocate<std::int64_t>(kMost);
  if (!shared) return shared.status().message();
  std::vector<std::int64_t> own(kMost), parts(kMost);
  Random same(7), mine(group.rank());
  for (std::int64_t i = 0; i < 60; ++i) {
    const std::size_t count = same.below(kMost) + 1;
    const std::span<std::int64_t> all = (mine.below(4) == 0 ? *shared : std::span(own)).first(count);
    for (std::size_t e = 0; e < count; ++e) all[e] = me * i + static_cast<std::int64_t>(e);
    const Group::Part part = group.own_part(count);
    const bool whole = same.below(2) == 0;
    const std::span<std::int64_t> sum = whole ? all : std::span(parts).first(part.count);
    const Status status = whole ? group.all_reduce(all) : group.reduce_scatter<std::int64_t>(all, sum);
    if (!status.ok()) return status.message();
    for (std::size_t e = 0; e < sum.size(); ++e) {
      const auto at = static_cast<std::int64_t>(e + (whole ? 0 : part.begin));
      if (sum[e] != n * at + i * n * (n - 1) / 2) return "element " + std::to_string(e) + " is wrong";
    }
  }
  return {};
}

// Whose size in bytes may be above all numbers of its type.
TEST(GroupMemory, RefusesMoreThanThereIs) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  const auto body = [](Group& group) -> std::string {
    for (const std::size_t count : {kMost / 4 + 1, kMost / 8 + 9, kMost / 8, kMost, kMost / 64})
      if (group.allocate<double>(count).status().code() != Code::kIo)
        return std::to_string(count) + " doubles";
    return group.allocate_bytes(kMost).status().code() == Code::kIo ? ""
                                                                    : "as many bytes as there are numbers";
  };
  EXPECT_EQ(on_threads(2, body), "");
  EXPECT_EQ(on_joined(2, GroupTransport::kShm, body), "");
  EXPECT_EQ(on_joined(2, GroupTransport::kTcp, body), "");
}

TEST(GroupMemory, RanksMayKeepTheirVectorsInDifferentPlaces) {
  for (const std::uint32_t ranks : {2U, 3U, 5U}) {
    for (const bool reads : {false, true})
      EXPECT_EQ(on_joined(options_for(ranks, reads), sum_from_anywhere), "");
  }
}

TEST(GroupMemory, RanksMeetOnceForEachWindowAndOnceBefore) {
  constexpr std::uint32_t kRanks = 4;
  const auto body = [](Group& group) -> std::string {
    // One of 256 KB, or several of 160.
    for (const auto& [count, windows] :
         {std::pair(65'000, 1), std::pair(130'000, 4), std::pair(390'000, 10)}) {
      std::vector<float> data(static_cast<std::size_t>(count));
      const std::uint64_t before = group.bytes_sent();
      if (Status s = group.all_reduce(std::span(data)); !s.ok()) return s.message();
      const std::uint64_t words = (group.bytes_sent() - before) / sizeof(SharedPlace);
      if (words != static_cast<std::uint64_t>(windows + 1) * (kRanks - 1))
        return std::to_string(words) + " words";
    }
    return "";
  };
  EXPECT_EQ(on_joined(options_for(kRanks, true), body), "");
}

// Short messages go at once where there is room; the others follow them.
TEST(GroupMemory, MessagesKeepTheirOrderHoweverTheyGo) {
  constexpr std::uint32_t kMessages = 3000;
  const auto body = [](Group& group) -> std::string {
    Random same(11);
    std::vector<std::vector<std::uint64_t>> data;
    std::vector<GroupWork> works;
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      const std::size_t count = same.below(100) == 0 ? 100'000 : same.below(1000) + 1;
      const bool started = same.below(4) == 0;
      std::vector<std::uint64_t> expected(count, i);
      if (group.rank() == 1) {
        std::vector<std::uint64_t> got(count);
        if (Status s = group.receive<std::uint64_t>(got, 0); !s.ok()) return s.message();
        if (got != expected) return "message " + std::to_string(i);
      } else if (started) {
        data.push_back(std::move(expected));
        GroupCall call =
            Group::typed<std::uint64_t>(Operation::kPointToPoint, data.back().data(), nullptr, count);
        call.peer = 1;
        works.push_back(group.start(call));
        if (works.size() < 60) continue;
        for (GroupWork& work : works) {
          if (Status s = work.wait(); !s.ok()) return s.message();
        }
        works.clear(), data.clear();
      } else if (Status s = group.send<std::uint64_t>(expected, 1); !s.ok()) {
        return s.message();
      }
    }
    for (GroupWork& work : works) {
      if (Status s = work.wait(); !s.ok()) return s.message();
    }
    return {};
  };
  EXPECT_EQ(on_joined(options_for(2, true), body), "");
}

// Ends this process at its `last`-th call.
class DyingFabric final : public Fabric {
 public:
  DyingFabric(LiveFabric& fabric, int last) : fabric_(fabric), left_(last) {}
  std::size_t write(Link to, std::span<const Piece> pieces) override { return step().write(to, pieces); }
  Piece peek(Link from, std::size_t want) override { return fabric_.peek(from, want); }
  void consume(Link from, std::size_t bytes) override { step().consume(from, bytes); }
  std::size_t read(Link from, std::byte* into, std::size_t size) override {
    const std::size_t got = fabric_.read(from, into, size);
    if (got > 0) step();
    return got;
  }
  std::uint64_t shared_offset(const void* data, std::size_t size) override {
    return fabric_.shared_offset(data, size);
  }
  std::byte* shared_by(std::uint32_t peer, std::uint64_t offset, std::size_t size) override {
    return step().shared_by(peer, offset, size);
  }
  std::byte* staging(std::uint16_t channel) override { return step().staging(channel); }
  bool can_fetch(std::uint32_t peer) override { return fabric_.can_fetch(peer); }
  bool fetch(std::uint32_t peer, std::uint64_t address, std::byte* into, std::size_t size) override {
    return step().fetch(peer, address, into, size);
  }

 private:
  Fabric& step() {
    if (left_-- == 0) ::raise(SIGKILL);
    return fabric_;
  }
  LiveFabric& fabric_;
  int left_;
};

// Rank 1 of a sum of `count` floats; dies at a step, or ends well.
[[noreturn]] void run_mortal(GroupOptions options, std::size_t count, int last) {
  options.rank = 1;
  auto formed = form_group(options);
  if (!formed) ::_exit(2);
  std::vector<float> data(count, 1);
  Call call;
  call.operation = Operation::kAllReduce;
  call.count = count;
  call.in = call.out = std::as_writable_bytes(std::span(data)).data();
  GroupRoutes routes((*formed)->places());
  DyingFabric fabric(**formed, last);
  Exchange exchange(call, routes.choose(call.operation, count * sizeof(float), sizeof(float)), 1,
                    options.size);
  while (!exchange.advance(fabric)) {
    if ((*formed)->any_lost()) ::_exit(3);
    (*formed)->wait(live_now() + std::chrono::milliseconds(100));
  }
  formed->reset();
  ::_exit(exchange.status().ok() ? 0 : 4);
}

// Both by reading and through staging areas, of vectors that need one window and several.
TEST(GroupMemory, DeathIsNoticedAtEachStep) {
  for (const bool reads : {false, true}) {
    for (const std::size_t count : {40'000U, 300'000U}) {
      int deaths = 0;
      for (int last = 0;; ++last) {
        GroupOptions options = options_for(2, reads);
        options.master_port = port_for_this_test();
        const pid_t child = ::fork();
        if (child == 0) run_mortal(options, count, last);
        std::vector<float> data(count, 1);
        Result<Group> group = Group::join(options);
        const Status status = group ? group->all_reduce(std::span(data)) : group.status();
        int how = 0;
        ::waitpid(child, &how, 0);
        if (WIFEXITED(how)) {
          ASSERT_EQ(WEXITSTATUS(how), 0);
          ASSERT_TRUE(status.ok()) << status.message();
          EXPECT_EQ(data.back(), 2);
          break;
        }
        ++deaths;
        // What it needed of the other it may have had by then.
        if (!status.ok()) {
          EXPECT_EQ(status.code(), Code::kPeerLost) << status.message();
          EXPECT_NE(status.message().find("rank 1"), std::string::npos) << status.message();
        } else {
          EXPECT_EQ(std::count(data.begin(), data.end(), 2.0F), static_cast<std::ptrdiff_t>(count));
        }
        ASSERT_LT(last, 500);
      }
      EXPECT_GT(deaths, 5);
    }
  }
}

}  // namespace
}  // namespace thalweg
