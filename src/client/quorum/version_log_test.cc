#include "client/quorum/version_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "base/hash/hash.h"
#include "base/temporary_folder_for_test.h"
#include "net/system_disk.h"

namespace thalweg {
namespace {

using quorum::Record;
using quorum::VersionStore;

class VersionLogs : public testing::Test {
 protected:
  static VersionStore new_store(std::uint32_t life) {
    return {HashRing(std::vector<std::uint32_t>{0, 1, 2}), 1, 3, life};
  }
  Result<std::unique_ptr<VersionLog>> open(const VersionLog::Owner& owner) {
    return VersionLog::open(disk_, folder_ / "node", owner);
  }
  std::string path() const { return (folder_ / "node") + "/log"; }
  // A life in which keys 0 to 9 are put, two hints kept and one of them dropped.
  void write() {
    auto log = open(kOwner);
    ASSERT_TRUE(log) << log.status().message();
    VersionStore store = new_store((*log)->life(7));
    ASSERT_TRUE((*log)->attach(store).ok());
    for (Key key = 0; key < 10; ++key) ASSERT_TRUE(store.put(key, {}, Bytes::of(std::to_string(key))).ok());
    store.set_complete();
    ASSERT_TRUE(store.keep_hint(2, 3, *store.find(3)));
    ASSERT_TRUE(store.keep_hint(2, 4, *store.find(4)));
    ASSERT_TRUE(store.drop_hint(2, 3, store.find(3)->digest(3)));
    ASSERT_TRUE((*log)->status().ok());
    written_ = store.records();
  }
  // How many of the keys are as they were.
  std::size_t kept(const VersionStore& store) const {
    std::size_t count = 0;
    for (const auto& [at, record] : written_) {
      const Record* own = store.find(unplace(at));
      count += own != nullptr && own->digest(unplace(at)) == record.digest(unplace(at)) ? 1 : 0;
    }
    return count;
  }
  // As the next process finds it, whose life is drawn as 9.
  VersionStore reopened(const VersionLog::Owner& owner = kOwner) {
    auto log = open(owner);
    EXPECT_TRUE(log) << log.status().message();
    VersionStore store = new_store((*log)->life(9));
    EXPECT_TRUE((*log)->attach(store).ok());
    store.set_journal(nullptr);
    return store;
  }

  static std::string entry_of(std::string_view body) {
    Writer out;
    const auto size = static_cast<std::uint32_t>(body.size());
    out.put(size).put(static_cast<std::uint32_t>(hash64(&size, sizeof size)));
    out.put(hash64(body.data(), body.size()));
    return std::string(out.take().text()) + std::string(body);
  }

  static inline const VersionLog::Owner kOwner{77, 1, "boot"};
  SystemDisk disk_;
  TemporaryFolder folder_;
  VersionStore::Records written_;
};

TEST_F(VersionLogs, TheNextProcessGoesOnInTheSameLife) {
  write();
  for (int again = 0; again < 2; ++again) {
    const VersionStore store = reopened();
    EXPECT_EQ(store.life(), 7u);
    EXPECT_TRUE(store.complete());
    EXPECT_EQ(kept(store), 10u);
    ASSERT_EQ(store.hints().size(), 1u);
    EXPECT_EQ(store.hints().begin()->first.second, 4u);
  }
}

TEST_F(VersionLogs, AnEntryThatWasCutOffWasNeverTold) {
  write();
  const std::string whole = read_text(path());
  for (std::size_t cut = 1; cut < 70; ++cut) {
    write_text(path(), whole.substr(0, whole.size() - cut));
    const VersionStore store = reopened();
    EXPECT_EQ(store.life(), 7u) << cut;
    EXPECT_TRUE(store.complete()) << cut;
    EXPECT_EQ(kept(store), 10u) << cut;
  }
}

TEST_F(VersionLogs, WhatMayLackSomethingIsAnotherLifeThatAnswersNoGets) {
  write();
  const std::string whole = read_text(path());
  for (const std::size_t at : {whole.size() / 2, whole.size() - 70, whole.size() - 1}) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x40);
    write_text(path(), flipped);
    const VersionStore store = reopened();
    EXPECT_EQ(store.life(), 9u) << at;
    EXPECT_FALSE(store.complete()) << at;
    EXPECT_GT(kept(store), 0u) << at;
    EXPECT_EQ(read_text(path() + ".damaged"), flipped) << at;
  }
  write_text(path(), whole);
  const VersionStore store = reopened({77, 1, "another boot"});
  EXPECT_EQ(store.life(), 9u);
  EXPECT_FALSE(store.complete());
  EXPECT_EQ(kept(store), 10u);
}

TEST_F(VersionLogs, TellsWhatOfADamagedLogIsLeftOut) {
  write();
  const std::string whole = read_text(path());
  EXPECT_EQ((*open(kOwner))->damage(), "");
  write_text(path(), whole.substr(0, whole.size() - 1));
  EXPECT_EQ((*open(kOwner))->damage(), "") << "what was cut off was never told";
  std::string flipped = whole + entry_of("\x03");
  flipped.back() ^= 1;
  for (const std::string& damaged : {flipped, whole + entry_of("\x09"), whole + entry_of("\x03x")}) {
    write_text(path(), damaged);
    EXPECT_EQ((*open(kOwner))->damage(),
              fmt::format("{0}: damaged at byte {1}: it and all behind it, {2} bytes, are left out, and got "
                          "from other nodes where they have it; that log stays as {0}.damaged",
                          path(), whole.size(), damaged.size() - whole.size()));
  }
}

TEST_F(VersionLogs, RefusesLogsOfOthersAndWhatIsNone) {
  write();
  EXPECT_EQ(open({78, 1, "boot"}).status().code(), Code::kUsage);
  EXPECT_EQ(open({77, 2, "boot"}).status().code(), Code::kUsage);
  {
    const auto log = open(kOwner);
    ASSERT_TRUE(log);
    const auto second = open(kOwner);
    EXPECT_NE(second.status().message().find("another process"), std::string::npos)
        << second.status().message();
  }
  for (const char* text : {"", "x", "This is no log of anything, but long enough to be one."}) {
    write_text(path(), text);
    EXPECT_EQ(open(kOwner).status().code(), Code::kModel) << text;
  }
  write_text(folder_ / "file", "x");
  EXPECT_EQ(VersionLog::open(disk_, folder_ / "file", kOwner).status().code(), Code::kUsage);
}

TEST_F(VersionLogs, BeginsAnewOnceMostOfItIsOfThePast) {
  auto log = open(kOwner);
  ASSERT_TRUE(log);
  VersionStore store = new_store((*log)->life(7));
  ASSERT_TRUE((*log)->attach(store).ok());
  const std::string value(1 << 20, 'v');
  std::uint64_t most = 0;
  for (int i = 0; i < 80; ++i) {
    const Record* own = store.find(3);
    ASSERT_TRUE(store.put(3, own == nullptr ? VectorClock() : own->clock(), Bytes::of(value)).ok());
    (*log)->tidy();
    most = std::max(most, (*log)->bytes());
  }
  EXPECT_GT(most, std::uint64_t{60} << 20);
  EXPECT_LT((*log)->bytes(), std::uint64_t{20} << 20);
  EXPECT_EQ(std::filesystem::file_size(path()), (*log)->bytes());
}

}  // namespace
}  // namespace thalweg
