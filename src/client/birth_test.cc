// What a child that was forked can do with its parent's groups and jobs: drop them, at once and with no harm.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/group/group_threads_for_test.h"
#include "thalweg/gradients.h"
#include "thalweg/group.h"
#include "thalweg/job.h"

namespace thalweg {
namespace {

constexpr unsigned kChildSeconds = 60;

// Empty, or how the child ended in which `body` did not return true.
std::string in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildSeconds);
    _exit(body() ? 0 : 1);
  }
  int how = 0;
  if (child < 0 || waitpid(child, &how, 0) != child) return "no child";
  if (WIFSIGNALED(how)) return "the child was ended by signal " + std::to_string(WTERMSIG(how));
  return how == 0 ? "" : "the child found what it did not expect";
}

bool is_refused(const Status& status, const char* what) {
  return status.code() == Code::kUsage && status.message().find("forked") != std::string::npos &&
         status.message().find(what) != std::string::npos;
}

// With an operation under way, one that is prepared, and gradients.
std::string is_left_alone(Group& group) {
  std::vector<float> data(100'000, 1), more(100, 1), few(10, 1);
  auto prepared =
      group.prepare(Group::typed<float>(Operation::kAllReduce, few.data(), few.data(), few.size()));
  auto gradients = Gradients::create(group, {{"weights", 100}});
  if (!prepared || !gradients) return "cannot prepare";
  if (Status status = gradients->announce_all(); !status.ok()) return status.message();
  if (Status status = gradients->wait_all(); !status.ok()) return status.message();
  std::optional<GroupWork> work = group.all_reduce_async(std::span(data));
  const std::string child = in_child([&] {
    const bool ended = work->done();
    const bool waits = ended || is_refused(work->wait(), "group");
    const bool refused =
        is_refused(group.all_reduce(std::span(more)), "group") &&
        is_refused(group.all_reduce_async(std::span(more)).wait(), "group") &&
        is_refused(prepared->run(), "group") && is_refused(group.split(0).status(), "group") &&
        is_refused(gradients->announce_all(), "group") && is_refused(gradients->wait_all(), "group") &&
        is_refused(group.allocate<float>(1).status(), "group");
    work.reset();
    { const PreparedOperation gone = *std::move(prepared); }
    { const Gradients gone = *std::move(gradients); }
    { const Group gone = std::move(group); }
    return waits && refused;
  });
  if (!child.empty()) return child;
  if (Status status = work->wait(); !status.ok()) return status.message();
  Status status = group.all_reduce(std::span(more));
  if (status.ok()) status = prepared->run();
  return status.ok() && more[99] == 2 && data[99'999] == 2 ? "" : "wrong: " + status.message();
}

TEST(Birth, GroupsAreTheirProcesses) {
  EXPECT_EQ(on_threads(2, is_left_alone), "");
  EXPECT_EQ(on_joined(2, GroupTransport::kTcp, is_left_alone), "");
  EXPECT_EQ(on_joined(2, GroupTransport::kShm, is_left_alone), "");
}

TEST(Birth, JobsAreTheirProcesses) {
  JobOptions options;
  options.tables.emplace_back().name = "weights";
  auto job = Job::start(options);
  ASSERT_TRUE(job) << job.status().message();
  const Key key = 7;
  const Keys keys = Keys::of({&key, 1});
  BlockingStore store = job->shard(ShardId{0});
  ASSERT_TRUE(store.push(TableId{0}, keys, Rows({3})).ok());
  EXPECT_EQ(in_child([&] {
              const bool refused =
                  is_refused(store.pull(TableId{0}, keys).status(), "job") &&
                  is_refused(store.advance(), "job") &&
                  is_refused(job->run([](Store&) -> Task<Status> { co_return Status(); }), "job");
              { const Job gone = *std::move(job); }
              return refused;
            }),
            "");
  ASSERT_TRUE(store.advance().ok());
  const auto rows = store.pull(TableId{0}, keys);
  ASSERT_TRUE(rows) << rows.status().message();
  EXPECT_EQ((*rows)[0], 3);
}

}  // namespace
}  // namespace thalweg
