// Kills or stops one of four ranks at a random point of a running all-reduce, again and again: all others end
// with an error that names it, form the group anew and go on.
//   group_failure [POINTS] [SEED]    default: 12 points, half of them over TCP, from a seed made of the time
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "net/live_fabric.h"
#include "net/reserved_port.h"
#include "thalweg/group.h"

namespace {

using namespace thalweg;
using namespace std::chrono_literals;

constexpr std::uint32_t kRanks = 4;
constexpr Duration kPatience = 60s;  // Of this test, with a machine that has other things to do.

struct Point {
  std::uint32_t victim = 0;
  int signal = SIGKILL;
  bool resumed = false;  // After a stop.
  GroupTransport transport = GroupTransport::kTcp;
  std::size_t count = 0;  // Floats.
  const char* route = "ring";
  std::chrono::microseconds after{};
  std::uint16_t port = 0;
};

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "group_failure: {}\n", what);
  std::fflush(stderr);
  std::_Exit(1);
}

void require(bool condition, const std::string& what) {
  if (!condition) fail(what);
}

Status all_reduce(Group& group, std::vector<float>& vector, const RouteChoice& route, Duration timeout) {
  const float mine = static_cast<float>(group.rank() + 1);
  std::fill(vector.begin(), vector.end(), mine);
  GroupCall call;
  call.in = call.out = vector.data();
  call.count = vector.size();
  call.route = route;
  call.timeout = timeout;
  if (Status status = group.run(call); !status) return status;
  const float expected = static_cast<float>(group.size() * (group.size() + 1) / 2);
  const auto wrong =
      std::find_if(vector.begin(), vector.end(), [=](float value) { return value != expected; });
  require(wrong == vector.end(), "an all-reduce gave a wrong sum");
  return {};
}

// One rank. Says on `out` that it runs, and exits with 0 when all went as it must.
void run_rank(const Point& point, std::uint32_t rank, int out) {
  const std::string me = fmt::format("rank {} (victim {})", rank, point.victim);
  GroupOptions options;
  options.rank = rank;
  options.size = kRanks;
  options.master_port = point.port;
  options.transport = point.transport;
  options.timeout = kPatience;
  options.patience = 2s;
  auto group = Group::join(options);
  require(group.is_ok(), me + ": " + group.status().message());
  const auto route = RouteChoice::named(point.route, {.piece_bytes = 64 << 10, .channels = 1});
  require(route.is_ok(), route.status().message());
  std::vector<float> vector(point.count);
  Status status;
  for (int i = 0; status.is_ok(); ++i) {
    status = all_reduce(*group, vector, *route, i < 3 ? kPatience : Duration(3s));
    if (i == 2) require(::write(out, "r", 1) == 1, "the parent is gone");
  }
  require(status.message().find(fmt::format("rank {}", point.victim)) != std::string::npos,
          fmt::format("{}: the error names another: {}", me, status.message()));
  require(
      status.message().find(point.signal == SIGKILL ? "is lost: " : "does not answer") != std::string::npos,
      fmt::format("{}: another reason was expected: {}", me, status.message()));
  require(status.message().find("all-reduce #") != std::string::npos &&
              status.message().find("step ") != std::string::npos,
          fmt::format("{}: operation and step are missing: {}", me, status.message()));
  require(status.code() == (point.signal == SIGKILL ? Code::kPeerLost : Code::kTimeout),
          "the code is another");
  auto anew = group->regroup();
  if (rank == point.victim) {
    require(anew.status().code() == Code::kRefused,
            me + ": it was given up, and regroups: " + anew.status().message());
    std::_Exit(0);
  }
  require(anew.is_ok(), me + ": " + anew.status().message());
  require(anew->size() == kRanks - 1, fmt::format("{}: {} ranks remain", me, anew->size()));
  for (int i = 0; i < 3; ++i) {
    const Status later = all_reduce(*anew, vector, *route, kPatience);
    require(later.is_ok(), me + ": after the group formed anew: " + later.message());
  }
}

void await_running(const std::array<int, kRanks>& pipes) {
  for (const int pipe : pipes) {
    pollfd watched{pipe, POLLIN, 0};
    require(::poll(&watched, 1, 60'000) == 1 && (watched.revents & POLLIN) != 0, "a rank does not run");
  }
}

void run_point(const Point& point) {
  std::array<pid_t, kRanks> children{};
  std::array<int, kRanks> pipes{};
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    int ends[2];
    require(::pipe(ends) == 0, "no pipe");
    children[rank] = ::fork();
    if (children[rank] == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      run_rank(point, rank, ends[1]);
      std::_Exit(0);
    }
    ::close(ends[1]);
    pipes[rank] = ends[0];
  }
  await_running(pipes);
  std::this_thread::sleep_for(point.after);
  ::kill(children[point.victim], point.signal);
  const auto exits_well = [&](std::uint32_t rank) {
    int status = 0;
    for (const Instant deadline = live_now() + kPatience; live_now() < deadline;) {
      if (::waitpid(children[rank], &status, WNOHANG) == children[rank])
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
      std::this_thread::sleep_for(1ms);
    }
    fmt::print(stderr, "rank {} hangs\n", rank);
    return false;
  };
  bool well = true;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    well = (rank == point.victim || exits_well(rank)) && well;
  if (point.resumed) {
    ::kill(children[point.victim], SIGCONT);
    well = exits_well(point.victim) && well;
  } else {
    ::kill(children[point.victim], SIGKILL);
    ::waitpid(children[point.victim], nullptr, 0);
  }
  for (const int pipe : pipes) ::close(pipe);
  require(well, "a rank did not end as it must");
}

}  // namespace

int main(int argc, char** argv) {
  const int points = argc > 1 ? std::atoi(argv[1]) : 12;
  const std::uint64_t seed =
      argc > 2 ? std::strtoull(argv[2], nullptr, 10) : static_cast<std::uint64_t>(live_now().ns);
  Random random(seed);
  constexpr std::size_t kCounts[] = {1, 1000, 100'003, 3'000'000};
  for (int i = 0; i < points; ++i) {
    Point point;
    point.victim = static_cast<std::uint32_t>(random.below(kRanks));
    point.signal = random.below(3) > 0 ? SIGKILL : SIGSTOP;  // Which takes 5 s.
    point.resumed = point.signal == SIGSTOP && random.below(2) == 0;
    point.transport = i % 2 == 0 ? GroupTransport::kTcp : GroupTransport::kShm;
    point.count = kCounts[random.below(4)];
    point.after = std::chrono::microseconds(random.below(20'000));
    const Result<ReservedPort> port = ReservedPort::reserve();
    require(port.is_ok(), port.status().message());
    point.port = port->number();
    fmt::print("{} of {}, seed {}: rank {} is {} after {} us, {} floats over {}\n", i + 1, points, seed,
               point.victim, point.signal == SIGKILL ? "killed" : "stopped", point.after.count(), point.count,
               point.transport == GroupTransport::kTcp ? "TCP" : "shared memory");
    std::fflush(stdout);
    run_point(point);
  }
}
