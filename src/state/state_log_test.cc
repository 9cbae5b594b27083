#include "state/state_log.h"

#include <gtest/gtest.h>

#include <set>

#include "base/temporary_folder_for_test.h"
#include "net/system_disk.h"
#include "node/state_store_for_test.h"
#include "sim/disk.h"

namespace thalweg::state {
namespace {

class ClockByHand final : public Clock {
 public:
  Instant now() const override { return now_; }
  void pass(Duration time) { now_ = now_ + time; }

 private:
  Instant now_{0};
};

class LogUnderTest final : public StoreUnderTest {
 public:
  LogUnderTest(std::unique_ptr<Disk> disk, std::string directory)
      : disk_(std::move(disk)), directory_(std::move(directory)) {
    forget();
  }
  void forget() override {
    log_.reset();
    auto log = StateLog::open(*disk_, directory_, clock_);
    EXPECT_TRUE(log.ok()) << log.status().message();
    log_ = *std::move(log);
  }
  StateStore& store() override { return *log_; }
  Duration lease_length() const override { return std::chrono::seconds(5); }
  void let_pass(Duration time) override { clock_.pass(time); }

 private:
  std::unique_ptr<Disk> disk_;
  const std::string directory_;
  ClockByHand clock_;
  std::unique_ptr<StateLog> log_;
};

std::unique_ptr<StoreUnderTest> on_simulated_disk() {
  return std::make_unique<LogUnderTest>(std::make_unique<SimDisk>(7), "/state");
}

class LogInAFolder final : public StoreUnderTest {
 public:
  StateStore& store() override { return log_.store(); }
  Duration lease_length() const override { return log_.lease_length(); }
  void let_pass(Duration time) override { log_.let_pass(time); }
  void forget() override { log_.forget(); }

 private:
  TemporaryFolder folder_;
  LogUnderTest log_{std::make_unique<SystemDisk>(), folder_ / "state"};
};

std::unique_ptr<StoreUnderTest> on_system_disk() { return std::make_unique<LogInAFolder>(); }

INSTANTIATE_TEST_SUITE_P(Log, StateStoreSuite,
                         testing::Values(StoreMaker{"Simulated", on_simulated_disk},
                                         StoreMaker{"System", on_system_disk}),
                         [](const auto& test) { return test.param.name; });

Result<std::uint64_t> set(StateLog& log, const std::string& key, const std::string& value) {
  const StateChange change{key, value};
  return log.swap({}, std::span(&change, 1), 0);
}

std::string text_of(StateLog& log) {
  const auto view = log.get("");
  EXPECT_TRUE(view.ok()) << view.status().message();
  std::string all;
  for (const auto& [key, entry] : view->entries) all += key + "=" + entry.value + " ";
  return all;
}

std::vector<std::byte> bytes_of(const Disk& disk, const std::string& path) {
  const auto file = disk.open(path);
  std::vector<std::byte> bytes(*(*file)->size());
  EXPECT_TRUE((*file)->read_at(0, bytes).ok());
  return bytes;
}

void put_file(Disk& disk, const std::string& path, std::span<const std::byte> bytes) {
  ASSERT_TRUE(disk.remove(path).ok());
  const auto file = disk.create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->write_at(0, bytes).ok());
}

// Three changes behind what the log began with.
std::vector<std::byte> known_log(Disk& disk) {
  const ClockByHand clock;
  auto log = StateLog::open(disk, "/state", clock);
  EXPECT_TRUE(set(**log, "a", "1").ok() && set(**log, "b", "2").ok() && set(**log, "a", "3").ok());
  return bytes_of(disk, "/state/log");
}

TEST(StateLog, IsThereAgain) {
  SimDisk disk(1);
  const ClockByHand clock;
  known_log(disk);
  std::uint64_t revision = 0;
  {
    auto log = StateLog::open(disk, "/state", clock);
    ASSERT_TRUE(log.ok()) << log.status().message();
    EXPECT_EQ(text_of(**log), "a=3 b=2 ");
    revision = *set(**log, "c", "4");
  }
  auto log = StateLog::open(disk, "/state", clock);
  EXPECT_EQ(text_of(**log), "a=3 b=2 c=4 ");
  EXPECT_EQ((*log)->get("c")->entries.at("c").revision, revision);
  EXPECT_GT((*log)->get("")->revision, revision);
}

TEST(StateLog, IsForOneProcess) {
  SimDisk disk(1);
  const ClockByHand clock;
  auto log = StateLog::open(disk, "/state", clock);
  ASSERT_TRUE(log.ok());
  const auto second = StateLog::open(disk, "/state", clock);
  EXPECT_EQ(second.status().code(), Code::kUsage);
  EXPECT_NE(second.status().message().find("another process"), std::string::npos)
      << second.status().message();
}

TEST(StateLog, LeasesEndWithTheirProcess) {
  SimDisk disk(1);
  const ClockByHand clock;
  {
    auto log = StateLog::open(disk, "/state", clock);
    const StateChange change{"bound", "1"};
    ASSERT_TRUE((*log)->swap({}, std::span(&change, 1), *(*log)->grant(std::chrono::hours(1))).ok());
    ASSERT_TRUE(set(**log, "free", "1").ok());
    EXPECT_EQ(text_of(**log), "bound=1 free=1 ");
  }
  auto log = StateLog::open(disk, "/state", clock);
  EXPECT_EQ(text_of(**log), "free=1 ");
}

TEST(StateLog, ALastChangeThatIsNotWholeIsCutOff) {
  SimDisk disk(1);
  const ClockByHand clock;
  const auto whole = known_log(disk);
  std::set<std::string> seen;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    put_file(disk, "/state/log", std::span(whole).first(size));
    auto log = StateLog::open(disk, "/state", clock);
    if (!log) {
      EXPECT_EQ(log.status().code(), Code::kModel) << size;
      continue;  // What it began with is not whole: it was never in place so.
    }
    const std::string text = text_of(**log);
    seen.insert(text);
    ASSERT_TRUE(set(**log, "d", "4").ok());
    log->reset();
    auto again = StateLog::open(disk, "/state", clock);
    EXPECT_EQ(text_of(**again), text + "d=4 ");
  }
  EXPECT_EQ(seen, (std::set<std::string>{"", "a=1 ", "a=1 b=2 ", "a=3 b=2 "}));
}

TEST(StateLog, DamageBeforeTheEndIsRefused) {
  SimDisk disk(1);
  const ClockByHand clock;
  const auto whole = known_log(disk);
  std::size_t refused = 0, cut = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto damaged = whole;
    damaged[at] ^= std::byte{0x10};
    put_file(disk, "/state/log", damaged);
    auto log = StateLog::open(disk, "/state", clock);
    if (log) {
      EXPECT_EQ(text_of(**log), "a=1 b=2 ") << at;  // The last change, as if its writing had been cut short.
      ++cut;
      continue;
    }
    ++refused;
    EXPECT_EQ(log.status().code(), Code::kModel);
    EXPECT_NE(log.status().message().find("/state/log: damaged at byte "), std::string::npos)
        << log.status().message();
  }
  EXPECT_GT(refused, cut);
  EXPECT_GT(cut, 16u);
}

TEST(StateLog, IsWrittenAnewAsItGrows) {
  SimDisk disk(1);
  const ClockByHand clock;
  auto log = StateLog::open(disk, "/state", clock);
  const std::string value(10'000, 'x');
  std::uint64_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(set(**log, "key", value + std::to_string(i)).ok());
    most = std::max(most, (*log)->bytes());
  }
  EXPECT_LT(most, 1'100'000u);
  EXPECT_EQ(disk.list("/state")->size(), 1u);
  log->reset();
  auto again = StateLog::open(disk, "/state", clock);
  EXPECT_EQ((*again)->get("key")->entries.at("key").value, value + "999");
}

TEST(StateLog, GrowsOnWhereThereIsNoRoomForANewOne) {
  SimDisk disk(1);
  const ClockByHand clock;
  auto log = StateLog::open(disk, "/state", clock);
  const std::string value(10'000, 'x');
  const auto turn = [&](int i) { return set(**log, "key" + std::to_string(i % 60), value); };
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(turn(i).ok());
  disk.set_free_bytes(1'000'000);  // Grown to 1.2 MB it has 0.4 MB, and needs 0.6 to be written anew.
  for (int i = 0; i < 99; ++i) ASSERT_TRUE(turn(i).ok()) << i;
  EXPECT_GT((*log)->bytes(), 1'500'000u);
  EXPECT_EQ(disk.list("/state")->size(), 1u);
  EXPECT_EQ(turn(99).status().code(), Code::kIo);
  disk.set_free_bytes(700'000);
  ASSERT_TRUE(turn(99).ok());
  EXPECT_LT((*log)->bytes(), 700'000u);
  log->reset();
  disk.set_free_bytes(1'000'000);
  auto again = StateLog::open(disk, "/state", clock);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ((*again)->get("key")->entries.size(), 60u);
}

TEST(StateLog, ForgetsOldChangesAndSaysSo) {
  SimDisk disk(1);
  const ClockByHand clock;
  auto log = StateLog::open(disk, "/state", clock);
  const std::uint64_t first = *set(**log, "a", "1");
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(set(**log, "a", std::to_string(i)).ok());
  EXPECT_EQ((*log)->watch("a", first, {}).status().code(), Code::kStale);
  const std::uint64_t now = (*log)->get("")->revision;
  EXPECT_EQ((*log)->watch("a", now - 3, {})->size(), 3u);
}

// What was said to be there is there, and of the change under way all or nothing, wherever the power goes
// out.
TEST(StateLog, SurvivesALossOfPowerAtEachOperation) {
  const ClockByHand clock;
  std::size_t cut_short = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (std::uint64_t operation = 1; operation < 40; ++operation) {
      SimDisk disk(seed * 1000 + operation);
      disk.lose_power_at(operation);
      std::uint64_t kept = 0, tried = 0;
      {
        auto log = StateLog::open(disk, "/state", clock);
        for (; log && tried < 12; ++kept) {
          ++tried;
          if (!set(**log, "count", std::to_string(tried)).ok()) break;
        }
      }
      cut_short += kept < tried ? 1 : 0;
      disk.restart();
      auto log = StateLog::open(disk, "/state", clock);
      ASSERT_TRUE(log.ok()) << log.status().message();
      const auto view = (*log)->get("count");
      const std::uint64_t found = view->entries.empty() ? 0 : std::stoull(view->entries.at("count").value);
      ASSERT_GE(found, kept) << "seed " << seed << " operation " << operation;
      ASSERT_LE(found, tried) << "seed " << seed << " operation " << operation;
    }
  }
  EXPECT_GT(cut_short, 100u);
}

// Whoever made the directory had an error before its entry was safe; the next one sees to it.
TEST(StateLog, ADirectoryThatIsThereIsMadeSafe) {
  const ClockByHand clock;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimDisk disk(seed);
    disk.fail_operation(2);
    ASSERT_FALSE(StateLog::open(disk, "/state", clock).ok());
    {
      auto log = StateLog::open(disk, "/state", clock);
      ASSERT_TRUE(log.ok());
      ASSERT_TRUE(set(**log, "a", "1").ok());
    }
    disk.restart();
    auto log = StateLog::open(disk, "/state", clock);
    EXPECT_EQ(text_of(**log), "a=1 ") << seed;
  }
}

// An error leaves open what is on the disk, and nothing behind it is lost.
TEST(StateLog, GoesOnAfterAnErrorOfTheDisk) {
  const ClockByHand clock;
  std::uint64_t failed = 0;
  for (std::uint64_t operation = 1; operation < 40; ++operation) {
    SimDisk disk(operation);
    disk.fail_operation(operation);
    auto log = StateLog::open(disk, "/state", clock);
    if (!log) {
      EXPECT_EQ(log.status().code(), Code::kIo);
      continue;
    }
    for (std::uint64_t i = 1; i < 12; ++i) {
      failed += set(**log, "count", std::to_string(i)).ok() ? 0 : 1;
    }
    EXPECT_TRUE(set(**log, "count", "12").ok() || set(**log, "count", "12").ok());
    log->reset();
    disk.restart();
    auto again = StateLog::open(disk, "/state", clock);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(text_of(**again), "count=12 ") << operation;
  }
  EXPECT_GT(failed, 10u);
}

}  // namespace
}  // namespace thalweg::state
