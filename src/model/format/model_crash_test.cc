// Saving a model on a disk that fails, fills up and loses power at every single operation.
#include <gtest/gtest.h>

#include "base/cases_for_test.h"
#include "model/format/stored_model_for_test.h"
#include "sim/disk.h"

namespace thalweg {
namespace {

constexpr const char* kPath = "/models/clicks";

struct Saving {
  explicit Saving(std::uint64_t seed) : disk(seed) {
    EXPECT_TRUE(disk.make_directory("/models").ok());
    EXPECT_TRUE(disk.sync_directory("/").ok());
    old_digest = *save_model(disk, kPath, spec, test_tables(spec, 40, 1));
    first = disk.operations() + 1;
  }
  Result<std::uint64_t> save() { return save_model(disk, kPath, spec, test_tables(spec, 60, 2)); }
  // The digest of the model that lies at the path, computed from its rows; 0 when it is not whole.
  std::uint64_t found() const {
    const Result<ModelReader> reader = ModelReader::open(disk, kPath);
    if (!reader) return 0;
    const Result<std::uint64_t> digest = reader->compute_digest();
    return digest ? *digest : 0;
  }

  SimDisk disk;
  ModelSpec spec = fm_spec();
  std::uint64_t old_digest = 0;
  std::uint64_t first = 0;  // The first operation of the next save.
};

struct Digests {
  Digests() {
    Saving saving(1);
    old_one = saving.old_digest;
    new_one = *saving.save();
    operations = saving.disk.operations() + 1 - saving.first;
  }
  std::uint64_t old_one = 0, new_one = 0, operations = 0;
};

void expect_clear(const Status& status) {
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_EQ(status.message().rfind("cannot ", 0), 0u) << status.message();
  EXPECT_NE(status.message().find("/models"), std::string::npos) << status.message();
}

TEST(ModelCrash, APowerLossAtAnyOperationLeavesTheOldModelOrTheNew) {
  const Digests digests;
  ASSERT_NE(digests.old_one, digests.new_one);
  ASSERT_GT(digests.operations, 10u);
  std::size_t kept_old = 0, kept_new = 0;
  for (std::uint64_t at = 0; at <= digests.operations; ++at) {
    for (std::uint64_t seed = 0; seed < 20; seed += kEveryForTest) {
      Saving saving(seed);
      saving.disk.lose_power_at(saving.first + at);
      const Result<std::uint64_t> saved = saving.save();
      saving.disk.restart();
      const std::uint64_t found = saving.found();
      ASSERT_TRUE(found == digests.old_one || found == digests.new_one)
          << "operation " << at << " seed " << seed;
      if (saved) {
        ASSERT_EQ(found, digests.new_one) << "what was reported as saved is there";
      }
      if (!saved) {
        expect_clear(saved.status());
      }
      ++(found == digests.old_one ? kept_old : kept_new);
      ASSERT_TRUE(saving.save().ok()) << "what a crash left behind is in nobody's way";
      EXPECT_EQ(saving.found(), digests.new_one);
      EXPECT_EQ(saving.disk.list("/models")->size(), 1u) << "and is removed";
    }
  }
  EXPECT_GT(kept_old, 0u);
  EXPECT_GT(kept_new, 0u);
}

TEST(ModelCrash, AFailedOperationLeavesTheOldModelOrTheNewEvenThroughALaterPowerLoss) {
  const Digests digests;
  for (std::uint64_t at = 0; at < digests.operations; ++at) {
    for (std::uint64_t seed = 0; seed < 20; seed += kEveryForTest) {
      Saving saving(seed);
      saving.disk.fail_operation(saving.first + at);
      const Result<std::uint64_t> saved = saving.save();
      if (!saved) {
        expect_clear(saved.status());
      }
      const std::uint64_t found = saving.found();
      ASSERT_TRUE(found == digests.old_one || found == digests.new_one) << "operation " << at;
      if (saved) {
        ASSERT_EQ(found, digests.new_one);
      }
      saving.disk.restart();
      const std::uint64_t later = saving.found();
      ASSERT_TRUE(later == digests.old_one || later == digests.new_one)
          << "operation " << at << " seed " << seed;
      if (saved) {
        ASSERT_EQ(later, digests.new_one);
      }
    }
  }
}

// The save that failed last may have left the replaced model, which a power loss could bring back under its
// name.
TEST(ModelCrash, WhatAFailedSaveLeftIsRemovedOnlyWhenNoPowerLossBringsItBack) {
  const Digests digests;
  std::size_t left = 0;
  for (std::uint64_t at = 0; at < digests.operations; ++at) {
    Saving failed(1);
    failed.disk.fail_operation(failed.first + at);
    (void)failed.save();
    if (failed.disk.list("/models")->size() == 1) continue;
    ++left;
    for (std::uint64_t again = 1; again <= digests.operations; ++again) {
      for (std::uint64_t seed = 0; seed < 20; seed += kEveryForTest) {
        Saving saving(seed);
        saving.disk.fail_operation(saving.first + at);
        (void)saving.save();
        saving.disk.lose_power_at(saving.disk.operations() + again);
        (void)saving.save();
        saving.disk.restart();
        const std::uint64_t found = saving.found();
        ASSERT_TRUE(found == digests.old_one || found == digests.new_one)
            << "operations " << at << " and then " << again << " seed " << seed;
      }
    }
  }
  EXPECT_GT(left, 0u);
}

TEST(ModelCrash, ANameThatAnotherWriterHasIsNotTaken) {
  SimDisk first(7), disk(7);
  std::string taken;
  for (SimDisk* d : {&first, &disk}) ASSERT_TRUE(d->make_directory("/models").ok());
  {
    const Result<StagedDirectory> staged = StagedDirectory::create(first, kPath);
    ASSERT_TRUE(staged.ok());
    taken = staged->staging();
  }
  ASSERT_TRUE(disk.make_directory(taken).ok());
  const auto claim = disk.claim(taken);
  ASSERT_TRUE(claim.ok());
  const Result<StagedDirectory> staged = StagedDirectory::create(disk, kPath);
  ASSERT_TRUE(staged.ok()) << staged.status().message();
  EXPECT_NE(staged->staging(), taken);
  EXPECT_EQ(*disk.look(taken), Entry::kDirectory) << "its writer is still at it";
}

TEST(ModelCrash, ADiskThatRunsFullAtAnyByteKeepsTheOldModelAndTakesTheNextOne) {
  const Digests digests;
  for (std::uint64_t free = 0;; free += 97) {
    Saving saving(free);
    saving.disk.set_free_bytes(free);
    const Result<std::uint64_t> saved = saving.save();
    if (saved) {
      EXPECT_GT(free, 1000u);
      EXPECT_EQ(saving.found(), digests.new_one);
      break;
    }
    expect_clear(saved.status());
    EXPECT_NE(saved.status().message().find("No space left"), std::string::npos) << saved.status().message();
    ASSERT_EQ(saving.found(), digests.old_one);
    EXPECT_EQ(saving.disk.list("/models")->size(), 1u) << "a failed save gives its space back";
    saving.disk.set_free_bytes(1 << 20);
    ASSERT_TRUE(saving.save().ok());
    EXPECT_EQ(saving.found(), digests.new_one);
  }
}

TEST(ModelCrash, TheCheckFindsADiskThatDoesNotSync) {
  const Digests digests;
  std::size_t lost = 0;
  for (std::uint64_t seed = 0; seed < 20; seed += kEveryForTest) {
    Saving saving(seed);
    saving.disk.ignore_syncs();
    ASSERT_TRUE(saving.save().ok());
    saving.disk.restart();
    const std::uint64_t found = saving.found();
    if (found != digests.old_one && found != digests.new_one) ++lost;
  }
  EXPECT_GT(lost, 0u);
}

}  // namespace
}  // namespace thalweg
