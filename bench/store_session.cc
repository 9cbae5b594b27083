#include "bench/store_session.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/check.h"
#include "client/job/job_options.h"
#include "scheduler/scheduler.h"
#include "server/server.h"

namespace thalweg::bench {
namespace {

constexpr std::uint64_t kCluster = 1;
// Cases of other programs run in between; nobody is to be missed meanwhile.
constexpr Duration kPatience = std::chrono::hours(1);

TcpOptions tcp_options(Duration spin) {
  TcpOptions options;
  options.spin = spin;
  return options;
}

SchedulerOptions job_of(const TableSpec& table) {
  JobOptions job;
  job.consistency = Consistency::async();
  job.tables = {table};
  job.timeout = 2 * kPatience;
  SchedulerOptions options = scheduler_options(job);
  options.suspect_after = kPatience;
  options.cluster = kCluster;
  return options;
}

[[noreturn]] void serve(const TableSpec& table, Duration spin, int port_pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const RealClock clock;
  Tcp driver(clock, tcp_options(spin));
  const auto port = driver.listen("127.0.0.1:0");
  THALWEG_CHECK(port.ok(), "a free port is found");
  Scheduler scheduler(job_of(table));
  Server server(ServerOptions{{.address = fmt::format("127.0.0.1:{}", *port), .name = "bench"}});
  driver.add(kScheduler, scheduler, kCluster);
  driver.add(server_node(1u << 31), server);
  const ssize_t written = ::write(port_pipe, &*port, sizeof *port);
  THALWEG_CHECK(written == sizeof *port, "the port is told");
  driver.run_until([&] { return scheduler.finished(); });
  std::_Exit(0);
}

}  // namespace

StoreSession::StoreSession(const TableSpec& table, Duration spin)
    : worker_(WorkerOptions{{.name = "bench"}}), driver_(clock_, tcp_options(spin)) {
  int pipes[2];
  THALWEG_CHECK(::pipe(pipes) == 0, "a pipe is made");
  child_ = ::fork();
  THALWEG_CHECK(child_ >= 0, "a process is made");
  if (child_ == 0) serve(table, spin, pipes[1]);
  std::uint16_t port = 0;
  THALWEG_CHECK(::read(pipes[0], &port, sizeof port) == sizeof port, "the child listens");
  ::close(pipes[0]), ::close(pipes[1]);
  THALWEG_CHECK(driver_.introduce(kScheduler, fmt::format("127.0.0.1:{}", port)).ok(), "the address is good");
  driver_.add(worker_node(1u << 31), worker_);
  driver_.run_until([this] { return worker_.store(ShardId{0}) != nullptr; });
}

StoreSession::~StoreSession() {
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

namespace {

struct Outcome {
  bool done = false;
  double seconds = 0;
};

Task<Status> timed(Store& store, const std::function<Task<Status>(Store&)>& work, const Clock& clock,
                   Outcome& outcome) {
  const Instant begin = clock.now();
  Status status = co_await work(store);
  outcome.seconds = std::chrono::duration<double>(clock.now() - begin).count();
  outcome.done = true;
  THALWEG_CHECK(status.ok(), status.message().c_str());
  co_return status;
}

}  // namespace

double StoreSession::time(const std::function<Task<Status>(Store&)>& work) {
  Outcome outcome;
  driver_.turn(worker_node(0), [&](Instant now, Transport& out) {
    worker_.turn(now, out, [&] {
      worker_.run(ShardId{0},
                  [&](ShardStore& store, const wire::Map&) { return timed(store, work, clock_, outcome); });
    });
  });
  driver_.run_until([&] { return outcome.done; });
  return outcome.seconds;
}

}  // namespace thalweg::bench
