#include "thalweg/job.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <thread>

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr TableId kCounts{0};
constexpr std::uint32_t kShards = 4;

TableSpec counts() {
  TableSpec spec;
  spec.name = "counts";
  spec.ranges = 16;
  return spec;
}

JobOptions options(Consistency mode) {
  JobOptions options;
  options.tables = {counts()};
  options.servers = 2;
  options.workers = 2;
  options.data_shards = kShards;
  options.consistency = mode;
  options.timeout = 20s;
  return options;
}

Job started(JobOptions options) {
  auto job = Job::start(std::move(options));
  EXPECT_TRUE(job.ok()) << job.status().message();
  return std::move(job).value();
}

Keys keys_up_to(std::size_t count) {
  std::vector<Key> keys(count);
  std::iota(keys.begin(), keys.end(), Key{0});
  return Keys::of(keys);
}

Rows ones(std::size_t count) { return Rows(std::vector<float>(count, 1.0f)); }

std::map<Key, float> contents(Job& job, TableId table = kCounts) {
  std::map<Key, float> out;
  const Status status = job.scan(table, [&](Key key, std::span<const float> row) { out[key] = row[0]; });
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

void expect_all(const std::map<Key, float>& contents, std::size_t keys, float value) {
  EXPECT_EQ(contents.size(), keys);
  for (const auto& [key, seen] : contents) EXPECT_EQ(seen, value) << key;
}

const Consistency kModes[] = {Consistency::sync(), Consistency::bounded(2), Consistency::async()};

TEST(Job, ThreadsOfTheApplicationShareATableInEveryMode) {
  for (const Consistency mode : kModes) {
    Job job = started(options(mode));
    std::vector<std::thread> threads;
    for (std::uint32_t s = 0; s < kShards; ++s) {
      threads.emplace_back([&job, s] {
        BlockingStore store = job.shard(ShardId{s});
        const Keys keys = keys_up_to(100);
        for (std::uint32_t i = 0; i < 10 + s; ++i) {  // Shards may differ in length.
          const auto rows = store.push_pull(kCounts, keys, ones(100));
          ASSERT_TRUE(rows.ok()) << rows.status().message();
          ASSERT_EQ(rows->size(), 100u);
          EXPECT_GE((*rows)[0], static_cast<float>(i + 1));
          EXPECT_EQ(store.step(), (Step{0, i + 1}));
        }
        ASSERT_TRUE(store.end_work().ok());
        ASSERT_TRUE(store.barrier({1, 0}).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
    expect_all(contents(job), 100, 10 + 11 + 12 + 13);
    EXPECT_EQ(job.stats().rows, 100u);
    EXPECT_EQ(job.clock(ShardId{2}), kEndOfWork);
  }
}

// Pushes as many steps as the shard's number, in two epochs if it is even, then leaves.
Task<Status> uneven(Store& store) {
  const Keys keys = keys_up_to(50);
  const std::uint32_t epochs = store.shard().value % 2 == 0 ? 2 : 1;
  for (std::uint32_t e = 0; e < epochs; ++e) {
    for (std::uint32_t i = 0; i <= store.shard().value; ++i) {
      store.push(kCounts, keys, ones(50)).forget();
      if (e == 0 && i == store.shard().value && epochs == 1) co_return ok_status();  // Within a step.
      if (Status status = (co_await store.advance()).status; !status.ok()) co_return status;
      const Answer rows = co_await store.pull(kCounts, keys);
      if (!rows.status.ok()) co_return rows.status;
    }
    if (Status status = (co_await store.end_epoch()).status; !status.ok()) co_return status;
  }
  co_return ok_status();
}

TEST(Job, ACallThatIsInterruptedLeavesItsRequestUnderWay) {
  std::atomic<bool> interrupted = false;
  JobOptions of_two = options(Consistency::sync());
  of_two.interrupted = [&] { return interrupted.load(); };
  Job job = started(of_two);
  BlockingStore store = job.shard(ShardId{0});
  ASSERT_TRUE(store.push(kCounts, keys_up_to(1), ones(1)).ok());
  ASSERT_TRUE(store.advance().ok());
  interrupted = true;
  EXPECT_EQ(store.pull(kCounts, keys_up_to(1)).status().code(), Code::kAborted);
  EXPECT_EQ(store.barrier({0, 0}).code(), Code::kAborted);
  interrupted = false;
  for (std::uint32_t s = 1; s < kShards; ++s) EXPECT_TRUE(job.shard(ShardId{s}).end_work().ok());
  const auto rows = store.pull(kCounts, keys_up_to(1));
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ((*rows)[0], 1.0f);
}

TEST(Job, AProgramThatEndsHoldsNobodyBack) {
  for (const Consistency mode : kModes) {
    Job job = started(options(mode));
    const Status status = job.run(uneven);
    EXPECT_TRUE(status.ok()) << status.message();
    expect_all(contents(job), 50, 1 * 2 + 2 + 3 * 2 + 4);
    const auto rows = job.shard(ShardId{0}).read(kCounts, keys_up_to(1));
    ASSERT_TRUE(rows.ok()) << rows.status().message();
    EXPECT_EQ((*rows)[0], 14.0f);
    EXPECT_EQ(job.shard(ShardId{0}).push(kCounts, keys_up_to(1), ones(1)).code(), Code::kUsage);
    EXPECT_EQ(job.run(uneven).code(), Code::kUsage);
  }
}

TEST(Job, TheFirstProgramToFailEndsTheJobAndNoneIsLeft) {
  auto witness = std::make_shared<int>(7);
  Job job = started(options(Consistency::sync()));
  const Status status = job.run([witness](Store& store) -> Task<Status> {
    const auto mine = witness;  // NOLINT(performance-unnecessary-copy-initialization)
    if (store.shard() == ShardId{3}) co_return Status(Code::kData, "rows.txt:7: bad row");
    co_return (co_await store.barrier({0, 0})).status;
  });
  EXPECT_EQ(status.code(), Code::kData);
  EXPECT_NE(status.message().find("rows.txt:7: bad row"), std::string::npos) << status.message();
  EXPECT_EQ(witness.use_count(), 1);
  EXPECT_EQ(job.shard(ShardId{0}).pull(kCounts, keys_up_to(1)).status().code(), Code::kData);
}

TEST(Job, AFailureWhileAnotherProgramComputesWaitsForThat) {
  std::atomic<bool> computing{false}, failing{false}, computed{false};
  const auto program = [&](Store& store) -> Task<Status> {
    if (store.shard() == ShardId{0}) {
      while (!computing) (void)co_await store.yield();
      failing = true;
      co_return Status(Code::kData, "shard 0 fails");
    }
    const Answer pulled = co_await store.pull(kCounts, keys_up_to(10));
    if (!pulled.status.ok()) co_return pulled.status;
    computing = true;
    while (!failing) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);  // For the job to end meanwhile.
    store.push(kCounts, keys_up_to(10), ones(10)).forget();
    computed = true;
    co_return (co_await store.advance()).status;
  };
  JobOptions with = options(Consistency::sync());
  with.data_shards = 2;
  Job job = started(std::move(with));
  EXPECT_EQ(job.run(program).message(), "worker-0: shard 0 fails");
  EXPECT_TRUE(computed);
}

TEST(Job, ARefusedPushFailsWhoeverWaitsForIt) {
  Job job = started(options(Consistency::sync()));
  const Status status = job.run([](Store& store) -> Task<Status> {
    const float value = store.shard() == ShardId{1} ? std::nanf("") : 1.0f;
    co_return (co_await push_pull(store, kCounts, keys_up_to(1), Rows(std::vector<float>(1, value)))).status;
  });
  EXPECT_EQ(status.code(), Code::kNonFinite) << status.message();
}

// What is wrong with a push is known at once, and nobody looks.
TEST(Job, ARefusedPushThatNobodyAwaitsFailsWhatComesNext) {
  enum class Then { kAdvances, kEnds, kAwaits };
  for (const Then then : {Then::kAdvances, Then::kEnds, Then::kAwaits}) {
    Job job = started(options(Consistency::sync()));
    const Status status = job.run([then](Store& store) -> Task<Status> {
      const Pending push = store.push(kCounts, keys_up_to(3), ones(2));
      if (then != Then::kAwaits) push.forget();
      if (then == Then::kEnds) co_return ok_status();
      co_return (co_await store.advance()).status;
    });
    EXPECT_EQ(status.code(), then == Then::kAwaits ? Code::kOk : Code::kUsage) << status.message();
    if (then == Then::kAwaits) continue;
    EXPECT_NE(status.message().find("need 3 values, got 2"), std::string::npos) << status.message();
  }
}

TEST(Job, AnAwaitedPushPullGivesTheNextStepsRows) {
  Job job = started(options(Consistency::sync()));
  const Status status = job.run([](Store& store) -> Task<Status> {
    for (int i = 1; i <= 5; ++i) {
      const Answer rows = co_await push_pull(store, kCounts, keys_up_to(3), ones(3));
      if (!rows.status.ok()) co_return rows.status;
      if (rows.rows[2] != static_cast<float>(i * 4)) co_return Status(Code::kData, "another step's rows");
    }
    co_return (co_await push_pull(store, kCounts, keys_up_to(3), ones(2))).status;
  });
  EXPECT_EQ(status.code(), Code::kUsage);
  EXPECT_NE(status.message().find("need 3 values, got 2"), std::string::npos) << status.message();
}

TEST(Job, ADeadlineNamesTheShardThatWasWaitedFor) {
  Job job = started(options(Consistency::sync()));
  for (std::uint32_t s = 0; s < kShards; ++s) {
    if (s == 2) continue;
    ASSERT_TRUE(job.shard(ShardId{s}).push(kCounts, keys_up_to(9), ones(9)).ok());
    ASSERT_TRUE(job.shard(ShardId{s}).advance().ok());
  }
  BlockingStore store = job.shard(ShardId{0});
  const Status pull = store.pull(kCounts, keys_up_to(9), 1s).status();
  EXPECT_EQ(pull.code(), Code::kTimeout);
  EXPECT_NE(pull.message().find("not arrived: shard 2 of worker-"), std::string::npos) << pull.message();
  EXPECT_EQ(pull.message().find("shard 1"), std::string::npos) << pull.message();
  const Status barrier = store.barrier({0, 0}, 1s);
  EXPECT_EQ(barrier.code(), Code::kTimeout);
  EXPECT_NE(barrier.message().find("shard 2"), std::string::npos) << barrier.message();

  ASSERT_TRUE(job.shard(ShardId{2}).advance().ok());  // Late, and without a push: all go on.
  const auto rows = store.pull(kCounts, keys_up_to(9));
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ((*rows)[0], 3.0f);
}

TEST(Job, TheJobsOwnTimeoutNamesTheShardToo) {
  JobOptions short_wait = options(Consistency::bounded(1));
  short_wait.timeout = 2s;
  Job job = started(short_wait);
  BlockingStore store = job.shard(ShardId{1});
  ASSERT_TRUE(store.advance().ok());
  ASSERT_TRUE(store.advance().ok());
  const Status status = store.pull(kCounts, keys_up_to(9)).status();
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_NE(status.message().find("shard 0 of worker-"), std::string::npos) << status.message();
}

TEST(Job, AnEndThatWasGivenUpIsWaitedForByTheNext) {
  Job job = started(options(Consistency::async()));
  BlockingStore store = job.shard(ShardId{0});
  for (std::uint32_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(store.push(kCounts, keys_up_to(9), ones(9)).ok());
    const Status status = store.advance(0ns);
    EXPECT_TRUE(status.ok() || status.code() == Code::kTimeout) << status.message();
    EXPECT_EQ(job.clock(ShardId{0}), (Step{0, i + 1}));
  }
  EXPECT_TRUE(store.end_epoch().ok());
  EXPECT_EQ(store.step(), (Step{1, 0}));
  expect_all(contents(job), 9, 50);
}

// Adds the gradient and counts the updates in the row's state, which the second float shows.
class Counted final : public CustomRule {
 public:
  std::size_t state_floats(std::size_t) const override { return 1; }
  void update(std::span<float> row, std::span<float> state, std::span<const float> grad) const override {
    state[0] += 1.0f;
    row[0] += grad[0];
    row[1] = state[0];
  }
};

TEST(Job, AppliesARuleOfTheApplication) {
  JobOptions with_rule = options(Consistency::sync());
  for (const auto kind : {TableSpec::Kind::kSparse, TableSpec::Kind::kDense}) {
    TableSpec spec = counts();
    spec.kind = kind;
    spec.rows = kind == TableSpec::Kind::kDense ? 20 : 0;
    spec.dim = 2;
    spec.rule.kind = RuleKind::kCustom;
    spec.rule.custom = "counted";
    with_rule.tables = {spec};
    EXPECT_EQ(Job::start(with_rule).status().code(), Code::kUsage);  // Nobody knows the rule.
    JobOptions complete = with_rule;
    complete.rules["counted"] = std::make_shared<Counted>();
    Job job = started(complete);
    const bool dense = kind == TableSpec::Kind::kDense;
    const Status status = job.run([dense](Store& store) -> Task<Status> {
      const Keys keys = dense ? Keys::block(5, 10) : keys_up_to(10);
      for (int i = 0; i < 3; ++i) {
        store.push(kCounts, keys, ones(20)).forget();
        if (Status ended = (co_await store.advance()).status; !ended.ok()) co_return ended;
      }
      co_return ok_status();
    });
    ASSERT_TRUE(status.ok()) << status.message();
    std::size_t touched = 0;
    ASSERT_TRUE(job.scan(kCounts,
                         [&](Key key, std::span<const float> row) {
                           ASSERT_EQ(row.size(), 2u);
                           if (dense && (key < 5 || key >= 15)) return;
                           ++touched;
                           EXPECT_EQ(row[0], 12.0f) << key;
                           EXPECT_EQ(row[1], 3.0f) << key;  // Once a step, not once a shard.
                         })
                    .ok());
    EXPECT_EQ(touched, 10u);
  }
}

TEST(Job, TwoJobsInOneProcessKnowNothingOfEachOther) {
  Job one = started(options(Consistency::sync())), two = started(options(Consistency::async()));
  std::thread other([&] { EXPECT_TRUE(two.run(uneven).ok()); });
  EXPECT_TRUE(one.run(uneven).ok());
  other.join();
  const Job moved = std::move(two);
  expect_all(contents(one), 50, 14);
  EXPECT_EQ(moved.stats().rows, 50u);
}

// Also where the program of another job calls it that runs on the same thread.
TEST(Job, RefusesCallsFromInsideItsOwnPrograms) {
  JobOptions without_threads = options(Consistency::sync());
  without_threads.threads = 0;  // Its programs run on the thread that waits for them.
  Job outer = started(options(Consistency::sync())), inner = started(without_threads);
  std::atomic<int> refused{0}, scanned{0};
  const auto try_calls = [&](ShardId shard) {
    BlockingStore store = outer.shard(shard);
    const Status said[] = {store.pull(kCounts, keys_up_to(1)).status(), store.advance(),
                           outer.scan(kCounts, [](Key, std::span<const float>) {}), outer.run(nullptr)};
    for (const Status& status : said) refused += status.code() == Code::kUsage;
    EXPECT_NE(said[0].message().find("a program of the job calls it"), std::string::npos)
        << said[0].message();
    EXPECT_EQ(outer.clock(shard), Step{});
  };
  const Status inside = outer.run([&](Store& store) -> Task<Status> {
    try_calls(store.shard());
    if (store.shard() == ShardId{0}) {
      const Status other = inner.run([&](Store&) -> Task<Status> {
        try_calls(ShardId{1});
        co_return ok_status();
      });
      if (!other.ok()) co_return other;
      scanned += inner.scan(kCounts, [](Key, std::span<const float>) {}).ok();
    }
    co_return ok_status();
  });
  EXPECT_TRUE(inside.ok()) << inside.message();
  EXPECT_EQ(refused, 2 * 4 * static_cast<int>(kShards));  // Four calls, by each program of both jobs.
  EXPECT_EQ(scanned, 1);
}

TEST(Job, HandsReportsToTheApplicationOnceAndInOrder) {
  std::map<ShardId, std::string> seen;
  JobOptions reporting = options(Consistency::async());
  reporting.on_report = [&](ShardId shard, ReportId, std::string_view text) { seen[shard] += text; };
  Job job = started(reporting);
  EXPECT_TRUE(job.run([](Store& store) -> Task<Status> {
                   for (std::uint32_t i = 0; i < 3; ++i) {
                     const Answer told = co_await store.report({0, i}, std::to_string(i));
                     if (!told.status.ok()) co_return told.status;
                   }
                   co_return ok_status();
                 })
                  .ok());
  EXPECT_EQ(seen.size(), kShards);
  for (const auto& [shard, text] : seen) EXPECT_EQ(text, "012") << shard.value;
}

TEST(Job, NoReportIsTakenForTheEndOfAProgram) {
  std::map<ShardId, std::uint32_t> seen;
  JobOptions reporting = options(Consistency::async());
  reporting.on_report = [&](ShardId shard, ReportId, std::string_view) { ++seen[shard]; };
  Job job = started(reporting);
  const Status ended = job.run([](Store& store) -> Task<Status> {
    const Answer told = co_await store.report({kEndOfWork.epoch, kEndOfWork.index}, "all done");
    co_return told.status.ok() ? Status(Code::kData, "but it was not") : told.status;
  });
  EXPECT_EQ(ended.code(), Code::kData);
  EXPECT_GE(seen.size(), 1U);
}

TEST(Job, ClosingAsksProgramsToEnd) {
  Job job = started(options(Consistency::async()));
  std::thread closer([&] { job.close(); });
  const Status status = job.run([](Store& store) -> Task<Status> {
    while (!store.closing()) co_await store.yield();
    co_return ok_status();
  });
  closer.join();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Job, CombinedPushesGiveTheSameBits) {
  const auto trained = [](Combining combine, std::uint32_t workers) {
    JobOptions wanted = options(Consistency::sync());
    wanted.combine = combine;
    wanted.workers = workers;
    wanted.tables[0].rule.kind = RuleKind::kAdagrad;
    Job job = started(std::move(wanted));
    const Status status = job.run([](Store& store) -> Task<Status> {
      const Keys keys = keys_up_to(50);
      for (std::uint32_t step = 0; step < 20; ++step) {
        const Answer rows = co_await store.pull(kCounts, keys);
        if (!rows.status.ok()) co_return rows.status;
        std::vector<float> grads(keys.size());
        for (std::size_t i = 0; i < grads.size(); ++i) {
          grads[i] = std::sin(rows.rows[i] + static_cast<float>(i * (store.shard().value + 1) + step));
        }
        store.push(kCounts, keys, Rows(std::move(grads))).forget();
        if (const Status next = (co_await store.advance()).status; !next.ok()) co_return next;
      }
      co_return ok_status();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return contents(job);
  };
  const auto singly = trained(Combining::none(), 1);
  ASSERT_EQ(singly.size(), 50u);
  EXPECT_EQ(trained(Combining::machine(), 4), singly);
  EXPECT_EQ(trained(Combining::machine(), 1), singly);
  EXPECT_EQ(trained(Combining::tree(1), 3), singly);
}

TEST(Job, NamesTheOptionThatIsWrong) {
  const auto message = [](void (*change)(JobOptions&)) {
    JobOptions wrong = options(Consistency::sync());
    change(wrong);
    const auto job = Job::start(wrong);
    EXPECT_EQ(job.status().code(), Code::kUsage);
    return job.status().message();
  };
  EXPECT_NE(message([](JobOptions& o) { o.servers = 0; }).find("servers"), std::string::npos);
  EXPECT_NE(message([](JobOptions& o) { o.workers = 0; }).find("workers"), std::string::npos);
  EXPECT_NE(message([](JobOptions& o) { o.data_shards = 0; }).find("data_shards"), std::string::npos);
  EXPECT_NE(message([](JobOptions& o) { o.tables.clear(); }).find("tables"), std::string::npos);
  EXPECT_NE(message([](JobOptions& o) { o.tables.push_back(counts()); }).find("'counts'"), std::string::npos);
  EXPECT_NE(message([](JobOptions& o) { o.tables[0].dim = 0; }).find("dim is 0"), std::string::npos);
  EXPECT_NE(message([](JobOptions& o) { o.combine = Combining::tree(0); }).find("arity"), std::string::npos);
  EXPECT_NE(message([](JobOptions& o) {
              o.combine = Combining::machine();
              o.consistency = Consistency::async();
            }).find("sync mode"),
            std::string::npos);
  EXPECT_NE(message([](JobOptions& o) {
              o.combine = Combining::tree_both_ways(2);
              o.consistency = Consistency::softsync(1);
            }).find("both ways"),
            std::string::npos);
  EXPECT_NE(message([](JobOptions& o) { o.timeout = 0s; }).find("timeout"), std::string::npos);
  const auto for_ever = [](JobOptions& o) { o.timeout = std::chrono::nanoseconds::max(); };
  EXPECT_NE(message(for_ever).find("timeout"), std::string::npos);
}

TEST(Job, RefusesKeysThatDoNotFitTheTable) {
  JobOptions both = options(Consistency::async());
  TableSpec dense = counts();
  dense.name = "dense";
  dense.kind = TableSpec::Kind::kDense;
  dense.rows = 8;
  both.tables.push_back(dense);
  Job job = started(both);
  BlockingStore store = job.shard(ShardId{0});
  EXPECT_EQ(store.pull(kCounts, Keys::block(0, 4)).status().code(), Code::kUsage);
  EXPECT_EQ(store.pull(TableId{1}, keys_up_to(4)).status().code(), Code::kUsage);
  EXPECT_EQ(store.pull(TableId{1}, Keys::block(4, 5)).status().code(), Code::kUsage);
  EXPECT_EQ(store.pull(TableId{2}, keys_up_to(4)).status().code(), Code::kUsage);
  EXPECT_EQ(store.pull(kCounts, Keys()).status().code(), Code::kUsage);
  EXPECT_EQ(store.push(kCounts, keys_up_to(4), ones(3)).code(), Code::kUsage);
  const auto rows = store.pull(TableId{1}, Keys::block(4, 4));
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ(rows->size(), 4u);
}

TEST(Job, InLockstepAPullAfterTheStepsPushIsRefused) {
  JobOptions alone = options(Consistency::sync());
  alone.data_shards = 1;
  Job job = started(alone);
  BlockingStore shard = job.shard(ShardId{0});
  ASSERT_TRUE(shard.push(kCounts, keys_up_to(1), ones(1)).ok());
  EXPECT_EQ(shard.pull(kCounts, keys_up_to(1)).status().code(), Code::kUsage);
  ASSERT_TRUE(shard.advance().ok());
  EXPECT_TRUE(shard.pull(kCounts, keys_up_to(1)).ok());
}

}  // namespace
}  // namespace thalweg
