#include "net/group_door.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "base/limits.h"
#include "net/group_call.h"
#include "net/live_fabric.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<GroupDoor> open_door() {
  const auto any = resolve("127.0.0.1", 0, live_now() + 20s);
  auto door = GroupDoor::listen(any->front(), false);
  EXPECT_TRUE(door) << door.status().message();
  return *std::move(door);
}

FileDescriptor call(const GroupDoor& door, std::uint32_t from) {
  auto socket = dial(door.address(), live_now() + 20s);
  EXPECT_TRUE(socket) << socket.status().message();
  const Opening opening{Opening::Kind::kControl, from, 0, 0, 0, {}};
  EXPECT_TRUE(send_all(socket->get(), encode_opening(opening).span(), live_now() + 20s));
  return *std::move(socket);
}

// All ranks of a large group call one that has been busy.
TEST(GroupDoor, HearsAllWhoHaveCalledBeforeItLooks) {
  const auto door = open_door();
  constexpr auto kCallers = static_cast<std::uint32_t>(limits::kConnectionsBeforeHelloMax) + 40;
  std::vector<FileDescriptor> callers;
  for (std::uint32_t from = 0; from < kCallers; ++from) callers.push_back(call(*door, from));
  door->look(live_now());
  std::uint32_t heard = 0;
  while (door->take([](const auto&) { return true; })) ++heard;
  EXPECT_EQ(heard, kCallers) << door->last_dropped();
}

TEST(GroupDoor, SaysWhyItTakesNobody) {
  const auto door = open_door();
  const FileDescriptor caller = call(*door, 1);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const FileDescriptor lowest_free(::dup(caller.get()));
  const rlimit none_left{static_cast<rlim_t>(lowest_free.get()), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  door->look(live_now());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(door->status().code(), Code::kIo);
  EXPECT_NE(door->status().message().find("Too many open files"), std::string::npos)
      << door->status().message();
  door->look(live_now());
  EXPECT_TRUE(door->status());
  EXPECT_TRUE(door->take([](const auto&) { return true; }));
}

}  // namespace
}  // namespace thalweg
