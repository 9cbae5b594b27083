// A rank whose process has run out of file descriptors when others call it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <string>
#include <thread>
#include <vector>

#include "net/group/group_call.h"
#include "net/group/group_for_test.h"
#include "net/live_fabric.h"
#include "net/socket/few_descriptors_for_test.h"

namespace thalweg {
namespace {

// The vptr sanitizer asks by a pipe whether memory can be read, and takes a lack of descriptors for a bad
// vptr.
#if !defined(__SANITIZE_ADDRESS__)

// Rank 0 in a process of its own, which ends when its group has formed or has not.
class LeaderProcess {
 public:
  explicit LeaderProcess(const GroupOptions& options) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    FileDescriptor tells(ends[1]);
    heard_ = FileDescriptor(ends[0]);
    pid_ = ::fork();
    if (pid_ != 0) return;
    const std::string outcome = form_group(options).status().message();
    const auto said = ::write(tells.get(), outcome.data(), outcome.size());
    ::_exit(said < 0 ? 1 : 0);
  }
  // Empty when its group has formed.
  std::string outcome() {
    std::string all(4096, '\0');
    std::size_t size = 0;
    for (ssize_t got = 1; got > 0; size += static_cast<std::size_t>(got))
      got = ::read(heard_.get(), all.data() + size, all.size() - size);
    all.resize(size);
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    EXPECT_EQ(status, 0);
    return all;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  FileDescriptor heard_;
};

std::vector<FileDescriptor> silent_callers(std::uint16_t port, std::size_t count) {
  const SocketAddress leader = resolve("127.0.0.1", port, live_now() + 20s)->front();
  std::vector<FileDescriptor> callers;
  while (callers.size() < count) {
    if (auto socket = dial(leader, live_now() + 20s)) callers.push_back(*std::move(socket));
  }
  return callers;
}

TEST(GroupShortage, TheGroupFormsWhenThereAreDescriptorsAgain) {
  std::vector<GroupOptions> all = all_of(2);
  LeaderProcess leader(all[0]);
  const auto first = silent_callers(all[0].master_port, 1);
  std::thread other;
  {
    const FewDescriptors none(0, leader.pid());
    const auto more = silent_callers(all[0].master_port, 20);
    other = std::thread([&all] {
      const Formed group = form_group(all[1]);
      EXPECT_TRUE(group) << group.status().message();
    });
    std::this_thread::sleep_for(300ms);  // It joins, and has no way to connect.
  }
  other.join();
  EXPECT_EQ(leader.outcome(), "");
}

TEST(GroupShortage, IsTheErrorWhenItLasts) {
  std::vector<GroupOptions> all = all_of(6);
  all[0].timeout = 3s;
  LeaderProcess leader(all[0]);
  const auto strangers = silent_callers(all[0].master_port, 1);
  const FewDescriptors none(0, leader.pid());
  std::vector<std::thread> others;
  for (std::uint32_t rank = 1; rank < all.size(); ++rank) {
    others.emplace_back([options = all[rank]]() mutable {
      options.timeout = 4s;
      EXPECT_FALSE(form_group(options));
    });
  }
  const std::string outcome = leader.outcome();
  EXPECT_NE(outcome.find("did not come"), std::string::npos) << outcome;
  EXPECT_NE(outcome.find("no file descriptors left"), std::string::npos) << outcome;
  for (std::thread& one : others) one.join();
}

#endif

}  // namespace
}  // namespace thalweg
