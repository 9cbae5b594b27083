#include "train/saved/best_so_far.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "model/format/stored_model_for_test.h"

namespace thalweg {
namespace {

class BestModelSoFar : public ::testing::Test {
 protected:
  BestModelSoFar() {
    options_.state = folder_ / "state";
    options_.out = folder_ / "model";
    std::filesystem::create_directory(options_.state);
    model_.name = "lr";
  }
  BestSoFar of(std::uint32_t before) const { return BestSoFar(options_, before); }
  std::string save(const BestSoFar& best, std::uint64_t epoch) {
    SystemDisk disk;
    const auto saved = save_model(disk, best.place(epoch), model_, test_tables(model_, 20, epoch));
    EXPECT_TRUE(saved.ok()) << saved.status().message();
    return best.place(epoch);
  }
  static bool is_there(const std::string& path) { return std::filesystem::exists(path); }

  TemporaryFolder folder_;
  TrainerOptions options_;
  ModelSpec model_;
};

TEST_F(BestModelSoFar, IsFoundByItsPassWhoeverHasKeptIt) {
  const BestSoFar first = of(0), second = of(1), third = of(12);
  const std::string three = save(first, 3), four = save(first, 4), again = save(second, 4);
  for (const BestSoFar& best : {first, second, third}) {
    EXPECT_EQ(best.find(3).value(), three);
    EXPECT_EQ(best.find(4).value(), again) << "the newer scheduler's";
  }
  const auto none = third.find(5);
  EXPECT_EQ(none.status().code(), Code::kModel);
  EXPECT_NE(none.status().message().find("of epoch 5, is not in " + options_.state), std::string::npos)
      << none.status().message();
  EXPECT_TRUE(is_there(four));
}

TEST_F(BestModelSoFar, ADamagedOneIsNamed) {
  const std::string path = save(of(0), 1);
  const std::string file = path + "/weights.safetensors";
  std::string bytes = read_text(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_text(file, bytes);
  const auto found = of(1).find(1);
  EXPECT_EQ(found.status().code(), Code::kModel);
  EXPECT_NE(found.status().message().find(path), std::string::npos) << found.status().message();
}

// Who has been followed and does not know it is not in the next one's way, nor is what it had begun.
TEST_F(BestModelSoFar, OnlyEarlierSchedulersAreForgotten) {
  BestSoFar first = of(0), second = of(1);
  const std::string old = save(first, 3), kept = save(first, 4), newer = save(second, 5);
  std::filesystem::create_directory(first.place(6) + ".tmp-0123456789abcdef");
  first.forget_others(kept);
  EXPECT_FALSE(is_there(old));
  EXPECT_TRUE(is_there(kept));
  EXPECT_TRUE(is_there(newer));
  EXPECT_FALSE(is_there(first.place(6) + ".tmp-0123456789abcdef"));
  second.forget_others("");
  EXPECT_FALSE(is_there(kept));
  EXPECT_FALSE(is_there(newer));
}

TEST_F(BestModelSoFar, ItLiesAmongCheckpointsWhereThereAreSome) {
  options_.checkpoint.directory = folder_ / "kept";
  std::filesystem::create_directory(options_.checkpoint.directory);
  BestSoFar best = of(0);
  const std::string two = save(best, 2), three = save(best, 3), five = save(best, 5);
  EXPECT_TRUE(two.starts_with(options_.checkpoint.directory)) << two;
  EXPECT_EQ(BestSoFar(options_.checkpoint.directory).find(3).value(), three);
  EXPECT_TRUE(best.has_behind(4));
  EXPECT_FALSE(best.has_behind(5));
  best.forget_others(five, {3, 4});
  EXPECT_FALSE(is_there(two));
  EXPECT_TRUE(is_there(three));
  EXPECT_TRUE(is_there(five));
  options_.state = "etcd://10.0.0.1:2379/jobs/ctr";
  options_.out.clear();
  EXPECT_TRUE(BestSoFar::check(options_).ok());
  EXPECT_EQ(of(0).find(5).value(), five);
}

TEST_F(BestModelSoFar, IsTakenInWholeOrNotAtAll) {
  BestSoFar there = of(0);
  const std::string two = save(there, 2);
  options_.checkpoint.directory = folder_ / "kept";
  std::filesystem::create_directory(options_.checkpoint.directory);
  BestSoFar here = of(0);
  ASSERT_TRUE(here.take_in(two, 2).ok());
  EXPECT_EQ(here.find(2).value(), here.place(2));
  for (const auto& entry : std::filesystem::directory_iterator(two)) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(read_text(here.place(2) + "/" + name), read_text(two + "/" + name)) << name;
  }
  std::filesystem::create_directory(two + "/below");
  const Status refused = here.take_in(two, 3);
  EXPECT_EQ(refused.code(), Code::kIo);
  EXPECT_NE(refused.message().find(two + "/below"), std::string::npos) << refused.message();
  EXPECT_EQ(here.take_in(folder_ / "none", 3).code(), Code::kIo);
  EXPECT_FALSE(is_there(here.place(3)));
  EXPECT_TRUE(there.find(2).ok()) << "what is copied stays";
}

TEST_F(BestModelSoFar, OfAStateInAnEtcdItLiesBesideTheModel) {
  options_.state = "etcd://10.0.0.1:2379/jobs/ctr";
  EXPECT_TRUE(BestSoFar::check(options_).ok());
  const std::string place = of(2).place(7);
  EXPECT_TRUE(place.starts_with(options_.out + ".best-")) << place;
  EXPECT_TRUE(place.ends_with("-2-7")) << place;
  options_.state = "etcd://10.0.0.2:2379/jobs/ctr";
  EXPECT_EQ(of(2).place(7), place) << "the same job by another member";
  options_.state = "etcd://10.0.0.1:2379/jobs/other";
  EXPECT_NE(of(2).place(7), place);
  options_.out.clear();
  EXPECT_EQ(BestSoFar::check(options_).code(), Code::kUsage);
  options_.state = folder_ / "state";
  EXPECT_TRUE(BestSoFar::check(options_).ok());
}

}  // namespace
}  // namespace thalweg
