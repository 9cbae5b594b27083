#include "train/checkpoint/resume.h"

#include <string>
#include <vector>

#include "base/cases_for_test.h"
#include "net/system_disk.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

// Of two checkpoints the newer one is damaged.
class Resume : public TrainerTest {
 protected:
  Resume() {
    options_.batch = 128;
    options_.checkpoint.directory = folder_ / "kept";
    options_.checkpoint.every_steps = 1;
    options_.epochs = 60 / kEveryForTest;
    calm_ = run(options_);
    EXPECT_TRUE(calm_.status.ok()) << calm_.status.message();
    const auto all = *checkpoint::list(SystemDisk(), options_.checkpoint.directory);
    EXPECT_EQ(all.size(), 2u);
    older_ = all.front().path;
    newer_ = all.back().path;
    damage(newer_);
    options_.checkpoint.resume = "auto";
  }
  static void damage(const std::string& path) {
    const std::string part = path + "/server-0.part";
    std::string text = read_text(part);
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
    write_text(part, text);
  }
  // As before there were hashes of headers.
  static void forget_headers(const std::string& path) {
    auto manifest = *checkpoint::open(SystemDisk(), path);
    for (checkpoint::Part& part : manifest.parts) part.headers.clear();
    write_text(path + "/" + checkpoint::kManifestFile, to_json(manifest));
  }
  Result<std::optional<ResumePoint>> find(LooksAt looks_at) {
    warnings_.clear();
    return find_resume(options_.checkpoint, looks_at, warnings_);
  }

  TrainResult calm_;
  std::string older_, newer_;
  std::vector<PassedOver> warnings_;
};

TEST_F(Resume, LooksAtAllFirstWhereTheJobCannotBeginAgain) {
  const auto found = find(LooksAt::kFirst);
  EXPECT_EQ((*found)->path, older_);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].why.find("damaged"), std::string::npos) << warnings_[0].why;
}

TEST_F(Resume, LeavesItToWhoeverLoads) {
  const auto found = find(LooksAt::kLoad);
  ASSERT_EQ((*found)->path, newer_);
  EXPECT_EQ((*found)->looks_at, LooksAt::kLoad);
  EXPECT_TRUE(warnings_.empty());
  ResumePoint point = **found;
  EXPECT_EQ(look_at_all(point).code(), Code::kModel);
  const TrainResult again = run(options_);
  EXPECT_EQ(again.model_digest, calm_.model_digest);
  EXPECT_NE(lines_.find("goes on from " + newer_), std::string::npos);
  EXPECT_NE(lines_.find("looking for an older checkpoint"), std::string::npos);
  EXPECT_NE(lines_.find("goes on from " + older_), std::string::npos);
}

TEST_F(Resume, NamesOneOfThoseInADirectoryOfThem) {
  options_.checkpoint.resume = options_.checkpoint.directory;
  const auto refused = find(LooksAt::kLoad);
  EXPECT_EQ(refused.status().code(), Code::kUsage);
  EXPECT_TRUE(refused.status().message().ends_with("expected one of them, such as " + newer_))
      << refused.status().message();
}

TEST_F(Resume, LooksAtAllOfEarlierVersionsFirst) {
  forget_headers(newer_);
  EXPECT_EQ((*find(LooksAt::kLoad))->path, older_);
  EXPECT_EQ(warnings_.size(), 1u);
  forget_headers(older_);
  const auto found = find(LooksAt::kLoad);
  EXPECT_EQ((*found)->path, older_);
  EXPECT_EQ((*found)->looks_at, LooksAt::kFirst);
  options_.checkpoint.resume = newer_;
  const auto refused = find(LooksAt::kLoad);
  EXPECT_EQ(refused.status().code(), Code::kModel);
  EXPECT_TRUE(refused.status().message().starts_with("--resume: " + newer_)) << refused.status().message();
  options_.checkpoint.resume = "auto";
  EXPECT_EQ(run(options_).model_digest, calm_.model_digest);
}

}  // namespace
}  // namespace thalweg
