#include "train/rows/key_ages.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "model/format/model_dir.h"
#include "net/system_disk.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

EpochNumbers pass_of(std::uint64_t steps_before, std::uint64_t steps) {
  EpochNumbers pass;
  pass.steps_before = steps_before;
  pass.steps = steps;
  return pass;
}

TEST(KeyAges, AreStepsUpToTheEndOfAllPasses) {
  const std::vector<EpochNumbers> passes = {pass_of(0, 10), pass_of(10, 12)};
  const KeyAges ages(passes, 0);
  EXPECT_EQ(ages.age(age_rows(1, {1, 11})), 0);
  EXPECT_EQ(ages.age(age_rows(1, {1, 0})), 11);
  EXPECT_EQ(ages.age(age_rows(1, {0, 0})), 21);
  EXPECT_EQ(ages.age(std::vector<float>{KeyAges::kBefore, 5}), 27);
  EXPECT_EQ(ages.age({}), 22) << "a key that was there before";
}

TEST(KeyAges, GoOnBehindPassesOfAnotherRun) {
  const std::vector<EpochNumbers> passes = {pass_of(0, 10)};
  const KeyAges ages(passes, 2);
  EXPECT_EQ(ages.age(age_rows(1, {2, 9})), 0);
  EXPECT_EQ(ages.age(age_rows(1, {1, 9})), 10);
  EXPECT_EQ(ages.ages(std::vector<std::uint64_t>{3, 5, 9}, std::vector<std::uint64_t>{1, 5, 9},
                      std::vector<float>{2, 0, 2, 8, 2, 9}),
            (std::vector<double>{30, 1, 0}));
}

class Expiry : public TrainerTest {
 protected:
  static constexpr std::uint32_t kStepRows = 100, kSteps = 10;
  Expiry() {
    options_.valid_part = 0;
    options_.epochs = 1;
    options_.batch = kStepRows;
    options_.data_shards = 1;
  }
  // Ten steps of rows, of which each has feature 1, and one of its own step: first + step.
  std::string steps(Key first) {
    std::string text;
    for (std::uint32_t row = 0; row < kStepRows * kSteps; ++row)
      text += fmt::format("{} 1:1 {}:1\n", row % 3 == 0 ? 1 : 0, first + row / kStepRows);
    return folder_.write(fmt::format("from{}.svm", first), text);
  }
  std::set<Key> keys_of(const TrainResult& trained, const std::string& table) {
    EXPECT_TRUE(trained.status.ok()) << trained.status.message();
    const SystemDisk disk;
    const auto model = ModelReader::open(disk, trained.model);
    EXPECT_TRUE(model.ok()) << model.status().message();
    std::set<Key> keys;
    const auto& tables = model->manifest().tables;
    for (std::size_t t = 0; t < tables.size(); ++t) {
      if (tables[t].spec.name != table) continue;
      EXPECT_TRUE(model
                      ->scan(t, false,
                             [&](const StoredRows& rows) {
                               keys.insert(rows.keys.begin(), rows.keys.end());
                               return ok_status();
                             })
                      .ok());
    }
    return keys;
  }
};

TEST_F(Expiry, KeysOfOldStepsAreNotSaved) {
  options_.files = {steps(100)};
  options_.model = "fm";
  options_.expire_after = 4;
  options_.epochs = 2;  // Ages are those of the second pass.
  options_.keep_bad = true;
  const TrainResult trained = run(options_);
  for (const char* table : {"weights", "factors", "ages"})
    EXPECT_EQ(keys_of(trained, table), (std::set<Key>{1, 106, 107, 108, 109})) << table;
  EXPECT_EQ(trained.model_rows, 10u) << "of weights and factors";
}

TEST_F(Expiry, AgesGoOnInTheNextTraining) {
  options_.keep_bad = true;
  options_.files = {steps(100)};
  options_.expire_after = 14;
  const TrainResult monday = run(options_);
  EXPECT_EQ(keys_of(monday, "weights").size(), 11u);
  TrainerOptions next = options_;
  next.expire_after = 0;  // The model knows.
  next.files = {steps(200)};
  next.init = monday.model;
  next.out = folder_ / "tuesday";
  const TrainResult tuesday = run(next);
  EXPECT_NE(lines_.find(", 11 rows"), lines_.npos) << "without its ages: " << lines_;
  std::set<Key> expected = {1, 106, 107, 108, 109};
  for (Key key = 200; key < 210; ++key) expected.insert(key);
  EXPECT_EQ(keys_of(tuesday, "weights"), expected);
  next.files = {steps(300)};
  next.init = tuesday.model;
  next.out = folder_ / "wednesday";
  next.expire_after = 11;
  EXPECT_EQ(keys_of(run(next), "weights").size(), 12u) << "1, 209 and 300 to 309";
}

TEST_F(Expiry, ASavedModelWithoutAgesBeginsNow) {
  options_.keep_bad = true;
  options_.files = {steps(100)};
  const TrainResult monday = run(options_);
  TrainerOptions next = options_;
  next.files = {steps(200)};
  next.init = monday.model;
  next.out = folder_ / "tuesday";
  next.expire_after = 11;
  EXPECT_EQ(keys_of(run(next), "weights").size(), 21u);
  next.expire_after = 10;
  next.out = folder_ / "again";
  EXPECT_EQ(keys_of(run(next), "weights").size(), 11u);
}

TEST_F(Expiry, IsTheSameWhoeverTrains) {
  options_.files = {folder_ / "clicks.svm"};
  options_.data_shards = 4;
  options_.batch = 400;
  options_.expire_after = 3;
  options_.servers = 1, options_.workers = 1, options_.threads = 1;
  const TrainResult one = run(options_);
  ASSERT_TRUE(one.status.ok()) << one.status.message();
  options_.servers = 3, options_.workers = 4, options_.threads = 3;
  EXPECT_EQ(run(options_).model_digest, one.model_digest);
  options_.consistency = Consistency::async();
  EXPECT_TRUE(run(options_).status.ok());
}

TEST_F(Expiry, IsRefusedWhereShardsHaveRowsOfTheirOwn) {
  options_.files = {steps(100)};
  options_.expire_after = 5;
  options_.data_shards = 2;
  options_.algorithm = "downpour:fetch=2,push=2";
  EXPECT_NE(refused(options_).message().find("--expire-after makes no sense with --algorithm downpour"),
            std::string::npos);
}

}  // namespace
}  // namespace thalweg
