// What the drivers add to the wire: round trips, small messages with many in flight, and one-way megabytes,
// between two processes, by TCP and by the local way, and between two nodes of one process.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"
#include "net/in_process/in_process.h"
#include "net/real_clock.h"
#include "net/tcp/tcp.h"

namespace {

using thalweg::Bytes;
using thalweg::Duration;
using thalweg::Frame;
using thalweg::Instant;
using thalweg::kNever;
using thalweg::NodeId;
using thalweg::Op;
using thalweg::Transport;

const NodeId kAsker = thalweg::worker_node(0);
const NodeId kAnswerer = thalweg::server_node(0);

class BenchNode : public thalweg::Node {
 public:
  void on_frame(Instant, NodeId, Frame, Transport&) override {}
  void on_time(Instant, Transport&) override {}
  Instant next_deadline() const override { return kNever; }
  void on_peer_lost(Instant, NodeId, Transport&) override {}
  bool finished() const override { return false; }
};

// Answers each push with an empty reply.
class Answerer final : public BenchNode {
 public:
  void on_frame(Instant, NodeId from, Frame frame, Transport& out) override {
    Frame reply;
    reply.head = frame.head;
    reply.head.op = Op::kPushReply;
    out.send(from, std::move(reply));
  }
};

// Keeps `window` pushes of one payload unanswered and notes when each answer came.
class Asker final : public BenchNode {
 public:
  Asker(std::size_t payload_bytes, std::size_t count, std::size_t window)
      : payload_(Bytes::of(std::vector<float>(payload_bytes / sizeof(float), 1.0F))),
        count_(count),
        window_(window) {
    sent_at_.reserve(count);
    round_trips_.reserve(count);
  }
  void start(Instant now, Transport& out) {
    while (sent_at_.size() < std::min(window_, count_)) send(now, out);
  }
  void on_frame(Instant, NodeId, Frame, Transport& out) override {
    const Instant now = clock_.now();
    round_trips_.push_back(static_cast<double>((now - sent_at_[round_trips_.size()]).count()) * 1e-3);
    if (sent_at_.size() < count_) send(now, out);
  }
  bool done() const { return round_trips_.size() == count_; }
  std::vector<double> round_trips_us() const {
    std::vector<double> sorted = round_trips_;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

 private:
  void send(Instant, Transport& out) {
    Frame frame;
    frame.head.op = Op::kPush;
    frame.second = payload_;
    sent_at_.push_back(clock_.now());
    out.send(kAnswerer, std::move(frame));
  }

  thalweg::RealClock clock_;
  Bytes payload_;
  std::size_t count_;
  std::size_t window_;
  std::vector<Instant> sent_at_;
  std::vector<double> round_trips_;
};

struct Shape {
  std::string name;
  std::size_t payload_bytes;
  std::size_t count;
  std::size_t window;
};

void print(const std::string& where, const Shape& shape, const Asker& asker, double seconds) {
  const auto sorted = asker.round_trips_us();
  const double rate = static_cast<double>(shape.count) / seconds;
  fmt::print("{:<11} {:<22} p50 {:>8.1f} us  p99 {:>8.1f} us  {:>9.0f} msg/s  {:>6.2f} GB/s\n", where,
             shape.name, sorted[sorted.size() / 2], sorted[sorted.size() * 99 / 100], rate,
             rate * static_cast<double>(shape.payload_bytes) * 1e-9);
  std::fflush(stdout);
}

void between_processes(const Shape& shape, std::uint16_t port, const thalweg::TcpOptions& options) {
  const thalweg::RealClock clock;
  thalweg::Tcp net(clock, options);
  Asker warm_up(64, 100, 1);
  Asker asker(shape.payload_bytes, shape.count, shape.window);
  net.add(thalweg::worker_node(1), warm_up);
  net.add(kAsker, asker);
  const auto known = net.introduce(kAnswerer, fmt::format("127.0.0.1:{}", port));
  THALWEG_CHECK(known.ok(), "the address is good");
  net.turn(kAsker, [](Instant, Transport& out) { out.send(kAnswerer, Frame{}); });
  net.turn(thalweg::worker_node(1), [&](Instant now, Transport& out) { warm_up.start(now, out); });
  net.run_until([&] { return warm_up.done(); });
  const Instant begin = clock.now();
  net.turn(kAsker, [&](Instant now, Transport& out) { asker.start(now, out); });
  net.run_until([&] { return asker.done(); });
  print(net.stats().local > 0 ? "local" : "tcp", shape, asker,
        static_cast<double>((clock.now() - begin).count()) * 1e-9);
}

void in_process(const Shape& shape, std::size_t threads) {
  const thalweg::RealClock clock;
  Answerer answerer;
  Asker asker(shape.payload_bytes, shape.count, shape.window);
  thalweg::InProcess net(clock);
  net.add(kAnswerer, answerer);
  net.add(kAsker, asker);
  net.start(threads);
  const Instant begin = clock.now();
  net.turn(kAsker, [&](Instant now, Transport& out) { asker.start(now, out); });
  net.wait_until(kAsker, [&] { return asker.done(); });
  print(fmt::format("process:{}", threads), shape, asker,
        static_cast<double>((clock.now() - begin).count()) * 1e-9);
}

[[noreturn]] void answer(int port_pipe, const thalweg::TcpOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const thalweg::RealClock clock;
  Answerer answerer;
  thalweg::Tcp net(clock, options);
  net.add(kAnswerer, answerer);
  const auto port = net.listen("127.0.0.1:0");
  THALWEG_CHECK(port.ok(), "a free port is found");
  const ssize_t written = ::write(port_pipe, &*port, sizeof *port);
  THALWEG_CHECK(written == sizeof *port, "the port is told");
  net.run_until([] { return false; });
  std::_Exit(0);
}

}  // namespace

// wire_bench [repeats [spin_us [socket_buffer_bytes]]]
int main(int argc, char** argv) {
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 3;
  thalweg::TcpOptions options;
  if (argc > 2) options.spin = std::chrono::microseconds(std::atoi(argv[2]));
  if (argc > 3) options.socket_buffer_bytes = std::atoi(argv[3]);
  int pipes[2];
  if (::pipe(pipes) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) answer(pipes[1], options);
  std::uint16_t port = 0;
  if (::read(pipes[0], &port, sizeof port) != sizeof port) return 1;
  const std::vector<Shape> shapes = {
      {"64 B, 1 in flight", 64, 50000, 1},      {"4 KB, 1 in flight", 4096, 50000, 1},
      {"4 KB, 32 in flight", 4096, 300000, 32}, {"64 KB, 32 in flight", 65536, 30000, 32},
      {"1 MB, 1 in flight", 1U << 20, 2000, 1}, {"1 MB, 4 in flight", 1U << 20, 4000, 4},
      {"16 MB, 2 in flight", 1U << 24, 200, 2}};
  for (int i = 0; i < repeats; ++i) {
    for (const Shape& shape : shapes) {
      for (const bool local : {false, true}) {
        options.local_way = local;
        between_processes(shape, port, options);
      }
    }
    for (const std::size_t threads : {0U, 2U}) {
      in_process(shapes[0], threads);
      in_process({"64 B, 32 in flight", 64, 500000, 32}, threads);
    }
  }
  ::kill(child, SIGTERM);
  ::waitpid(child, nullptr, 0);
  return 0;
}
