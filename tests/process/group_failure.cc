// Kills or stops one rank of a group at a random point of running operations, again and again: all others end
// with an error that names it, form the group anew and go on. Operation, route, memory and transport are
// drawn.
//   group_failure [POINTS] [SEED] [FIRST]    default: 12 points from number 0, of a seed made of the time
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory_resource>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "group_failure_point.h"
#include "net/live_fabric.h"
#include "net/socket/reserved_port.h"

namespace {

using namespace thalweg;
using namespace std::chrono_literals;

constexpr Duration kPatience = 60s;  // Of this test, with a machine that has other things to do.

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "group_failure: {}\n", what);
  std::fflush(stderr);
  std::_Exit(1);
}

void require(bool condition, const std::string& what) {
  if (!condition) fail(what);
}

class GroupMemory final : public std::pmr::memory_resource {
 public:
  explicit GroupMemory(Group& group) : group_(group) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    const Result<void*> memory = group_.allocate_bytes(bytes);
    require(memory.ok(), memory.status().message());
    return *memory;
  }
  void do_deallocate(void* memory, std::size_t, std::size_t) override { group_.free(memory); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  Group& group_;
};

// Does one operation again and again, on fresh buffers where those of the last one cannot serve.
class Worker {
 public:
  Worker(Group& group, const GroupWorkCase& work) : group_(group), work_(work), memory_(group) {}

  Status work(Duration timeout) {
    const ExchangeCase& what = work_.what;
    if (!buffers_ || what.in_place || times_++ < 3) {
      buffers_.reset();
      buffers_.emplace(what, group_.rank(), work_.group_memory ? &memory_ : std::pmr::get_default_resource());
    }
    GroupCall call;
    call.operation = what.operation;
    call.in = buffers_->in();
    call.out = buffers_->out();
    call.count = what.count;
    call.type = what.type;
    call.combine = what.own_monoid ? Combine(monoid_for_test()) : Combine(what.reduction);
    call.root = what.root;
    call.route = work_.choice;
    call.timeout = timeout;
    if (Status status = work_.started ? group_.start(call).wait() : group_.run(call); !status.ok())
      return status;
    const std::string wrong = buffers_->check();
    require(wrong.empty(), what.name() + ": " + wrong);
    return {};
  }

 private:
  Group& group_;
  const GroupWorkCase& work_;
  GroupMemory memory_;
  std::optional<CaseBuffers> buffers_;
  int times_ = 0;
};

void check_error(const FailurePoint& point, const std::string& me, const Status& status) {
  const auto names = [&status](const std::string& part) {
    return status.message().find(part) != std::string::npos;
  };
  const bool killed = point.signal == SIGKILL;
  const std::string victim = fmt::format("rank {}", point.victim);
  require(names(victim), fmt::format("{}: the error names another: {}", me, status.message()));
  require(names(victim + (killed ? " is lost: " : " does not answer")),
          fmt::format("{}: another reason was expected: {}", me, status.message()));
  require(names(std::string(operation_name(point.before.what.operation)) + " #") && names("step "),
          fmt::format("{}: operation and step are missing: {}", me, status.message()));
  require(status.code() == (killed ? Code::kPeerLost : Code::kTimeout), me + ": the code is another");
}

// One rank. Says on `out` that it runs, and exits with 0 when all went as it must.
void run_rank(const FailurePoint& point, std::uint32_t rank, int out) {
  const std::string me = fmt::format("rank {} (victim {})", rank, point.victim);
  GroupOptions options;
  options.rank = rank;
  options.size = point.ranks;
  options.master_port = point.port;
  options.transport = point.transport;
  options.timeout = kPatience;
  options.patience = 2s;
  auto group = Group::join(options);
  require(group.ok(), me + ": " + group.status().message());
  Worker before(*group, point.before);
  Status status;
  for (int i = 0; status.ok(); ++i) {
    status = before.work(i < 3 ? kPatience : Duration(3s));
    if (i == 2) require(::write(out, "r", 1) == 1, "the parent is gone");
  }
  check_error(point, me, status);
  auto anew = group->regroup();
  if (rank == point.victim) {
    require(anew.status().code() == Code::kRefused,
            me + ": it was given up, and regroups: " + anew.status().message());
    std::_Exit(0);
  }
  require(anew.ok(), me + ": " + anew.status().message());
  require(anew->size() == point.ranks - 1, fmt::format("{}: {} ranks remain", me, anew->size()));
  Worker after(*anew, point.anew);
  for (int i = 0; i < 3; ++i) {
    const Status later = after.work(kPatience);
    require(later.ok(), me + ": after the group formed anew: " + later.message());
  }
}

void await_running(const std::vector<int>& pipes) {
  for (const int pipe : pipes) {
    pollfd watched{pipe, POLLIN, 0};
    require(::poll(&watched, 1, 60'000) == 1 && (watched.revents & POLLIN) != 0, "a rank does not run");
  }
}

void run_point(const FailurePoint& point, std::uint64_t number) {
  std::vector<pid_t> children(point.ranks);
  std::vector<int> pipes(point.ranks);
  for (std::uint32_t rank = 0; rank < point.ranks; ++rank) {
    int ends[2];
    require(::pipe(ends) == 0, "no pipe");
    children[rank] = ::fork();
    if (children[rank] == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(ends[0]);
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
  for (std::uint32_t rank = 0; rank < point.ranks; ++rank)
    well = (rank == point.victim || exits_well(rank)) && well;
  if (point.resumed) {
    ::kill(children[point.victim], SIGCONT);
    well = exits_well(point.victim) && well;
  } else {
    ::kill(children[point.victim], SIGKILL);
    ::waitpid(children[point.victim], nullptr, 0);
  }
  for (const int pipe : pipes) ::close(pipe);
  require(well, fmt::format("a rank of point {} did not end as it must", number));
}

// Points wait more than they compute.
constexpr std::uint64_t kSideBySide = 4;

void start_point(std::uint64_t seed, std::uint64_t number) {
  FailurePoint point = draw_failure(seed, number);
  const Result<ReservedPort> port = ReservedPort::reserve();
  require(port.ok(), port.status().message());
  point.port = port->number();
  fmt::print("group_failure 1 {} {}: {}\n", seed, number, point.text());
  std::fflush(stdout);
  if (::fork() != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  run_point(point, number);
  std::_Exit(0);
}

void await_any_point() {
  int status = 0;
  require(::wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0, "a point failed");
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t points = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 12;
  const std::uint64_t seed =
      argc > 2 ? std::strtoull(argv[2], nullptr, 10) : static_cast<std::uint64_t>(live_now().ns);
  const std::uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  for (std::uint64_t started = 0; started < points; ++started) {
    if (started >= kSideBySide) await_any_point();
    start_point(seed, first + started);
  }
  for (std::uint64_t left = std::min(points, kSideBySide); left > 0; --left) await_any_point();
}
