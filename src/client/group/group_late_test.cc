// A rank that is late reads what its peers have in shared memory when they give up: processes change it all
// the same, threads of one process wait, since they may free it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "client/group/group_threads_for_test.h"

namespace thalweg {
namespace {

std::atomic<int> given_up{0};
thread_local bool late = false;

void add(void* into, const void* from, std::size_t count) {
  auto* const sums = static_cast<std::byte*>(into);
  const auto* const more = static_cast<const std::byte*>(from);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t a = 0, b = 0;
    std::memcpy(&a, sums + i * sizeof a, sizeof a);
    std::memcpy(&b, more + i * sizeof b, sizeof b);
    a += b;
    std::memcpy(sums + i * sizeof a, &a, sizeof a);
  }
}

// The late rank comes to add when both others have changed what it adds.
void add_late(void* into, const void* from, std::size_t count, void*) {
  while (late && given_up.load() < 2) std::this_thread::yield();
  add(into, from, count);
}

// It adds long after the others' patience is over, and sees whether one of them has its memory back by then.
void add_slowly(void* into, const void* from, std::size_t count, void* seen) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (late && given_up.load() == 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  if (late && given_up.load() > 0) *static_cast<bool*>(seen) = true;
  add(into, from, count);
}

std::string give_up_on_the_late(Group& group) {
  constexpr std::size_t kCount = 30'000;
  late = group.rank() == 2;
  Result<std::span<std::int64_t>> in = group.allocate<std::int64_t>(kCount);
  Result<std::span<std::int64_t>> out = group.allocate<std::int64_t>(kCount);
  if (!in || !out) return in.status().message() + out.status().message();
  std::fill(in->begin(), in->end(), 1);
  GroupCall call;
  call.operation = Operation::kReduceScatter;
  call.in = in->data();
  call.out = out->data();
  call.count = kCount;
  call.type = DataType::kI64;
  call.combine = Monoid{"sum", sizeof(std::int64_t), &add_late, nullptr};
  call.route = *RouteChoice::named("shared");
  call.timeout = std::chrono::milliseconds(late ? 60'000 : 300);
  const Status status = group.run(call);
  if (!late) {
    std::fill(in->begin(), in->end(), 1000);
    given_up.fetch_add(1);
  }
  return status.ok() ? "it ended well, with " + std::to_string((*out)[0]) : "";
}

TEST(GroupLate, AResultReadAfterPeersGaveUpIsNone) {
  given_up = 0;
  EXPECT_EQ(on_joined(3, GroupTransport::kShm, give_up_on_the_late), "");
}

std::string wait_for_the_late(Group& group) {
  constexpr std::size_t kCount = 30'000;
  late = group.rank() == 2;
  bool seen = false;
  std::vector<std::int64_t> in(kCount, 1), out(kCount);
  GroupCall call = Group::typed<std::int64_t>(Operation::kReduceScatter, in.data(), out.data(), kCount);
  call.combine = Monoid{"sum", sizeof(std::int64_t), &add_slowly, &seen};
  call.route = *RouteChoice::named("shared");
  call.timeout = std::chrono::milliseconds(late ? 60'000 : 50);
  static_cast<void>(group.run(call));
  if (!late) given_up.fetch_add(1);
  return seen ? "a rank gave up while its memory was read" : "";
}

TEST(GroupLate, ThreadsDoNotGiveUpMemoryThatIsRead) {
  given_up = 0;
  EXPECT_EQ(on_threads(3, wait_for_the_late), "");
}

}  // namespace
}  // namespace thalweg
