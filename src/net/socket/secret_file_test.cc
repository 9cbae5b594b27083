// Files of secrets: made once, read by their owner alone.
#include "net/socket/secret_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/temporary_folder_for_test.h"

namespace thalweg {
namespace {

class SecretFile : public testing::Test {
 protected:
  // A file of the owner alone.
  std::string file(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    EXPECT_EQ(::chmod(path_.c_str(), mode), 0);
    return path_;
  }
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "job.secret";
};

constexpr const char* kDigits = "00112233445566778899aAbBcCdDeEfF";

TEST_F(SecretFile, HoldsHexadecimalDigits) {
  const auto secret = read_secret(file(std::string(kDigits) + "\n"));
  ASSERT_TRUE(secret.ok()) << secret.status().message();
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(std::to_integer<std::size_t>(secret->bytes[i]), 17 * i);
}

TEST_F(SecretFile, ThatIsNoneIsRefusedWithOneError) {
  const std::pair<std::string, std::string> texts[] = {
      {"", "0 digits"},
      {"0123", "4 digits"},
      {std::string(kDigits) + "00", "34 digits"},
      {std::string(1000, 'a'), "256 digits"},
      {"this is not a secret but words...", "other characters"},
  };
  for (const auto& [text, found] : texts) {
    const Status status = read_secret(file(text)).status();
    EXPECT_EQ(status.code(), Code::kUsage);
    EXPECT_NE(status.message().find("expected a secret, 32 hexadecimal digits"), std::string::npos);
    EXPECT_NE(status.message().find(found), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(path_), std::string::npos);
    if (text.size() > 4) {
      EXPECT_EQ(status.message().find(text.substr(0, 8)), std::string::npos) << "it is shown";
    }
  }
  EXPECT_EQ(read_secret(path_ + ".none").status().code(), Code::kIo);
}

// Of a directory that others may read, advice to change its mode would do harm.
TEST_F(SecretFile, ThatIsNoFileIsRefusedAsSuch) {
  for (const char* path : {"/tmp", "/dev/null"}) {
    const Status status = read_secret(path).status();
    EXPECT_EQ(status.code(), Code::kUsage);
    EXPECT_NE(status.message().find("is no file"), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find("chmod"), std::string::npos) << status.message();
  }
}

TEST_F(SecretFile, ThatOthersCanUseIsRefused) {
  for (const mode_t mode : {0640, 0604, 0620, 0666}) {
    const Status status = read_secret(file(kDigits, mode)).status();
    EXPECT_EQ(status.code(), Code::kUsage);
    EXPECT_NE(status.message().find("others than its owner"), std::string::npos) << status.message();
  }
  EXPECT_TRUE(read_secret(file(kDigits, 0400)).ok());
}

// Also where several make it at the same time.
TEST_F(SecretFile, IsMadeOnce) {
  std::vector<Secret> secrets(8);
  std::vector<std::thread> threads;
  for (Secret& secret : secrets) {
    threads.emplace_back([&] {
      const auto made = read_or_make_secret(path_);
      EXPECT_TRUE(made.ok()) << made.status().message();
      if (made) secret = *made;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Secret& secret : secrets) EXPECT_EQ(secret.bytes, secrets.front().bytes);
  EXPECT_NE(secrets.front().bytes, Secret{}.bytes);
  struct stat found {};
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600U);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "")) files += entry.exists() ? 1 : 0;
  EXPECT_EQ(files, 1U);
}

TEST_F(SecretFile, OfAUserLiesWhereNobodyElseHasASay) {
  const std::string mine = folder_ / "mine";
  const auto first = secret_in(mine);
  const auto second = secret_in(mine);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->bytes, second->bytes);
  ASSERT_EQ(::chmod(mine.c_str(), 0770), 0);
  EXPECT_EQ(secret_in(mine).status().code(), Code::kIo);
  const std::string link = folder_ / "link";
  ASSERT_EQ(::chmod(mine.c_str(), 0700), 0);
  std::filesystem::create_symlink(mine, link);
  EXPECT_EQ(secret_in(link).status().code(), Code::kIo);
}

TEST_F(SecretFile, IsHandedDownByADescriptor) {
  const Secret secret = draw_secret();
  const auto handed = secret_descriptor(secret);
  ASSERT_TRUE(handed.ok());
  for (int times = 0; times < 2; ++times) {
    const auto read = read_secret(descriptor_path(handed->get()));
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->bytes, secret.bytes);
  }
}

}  // namespace
}  // namespace thalweg
