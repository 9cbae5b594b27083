// How fast separate processes of one machine exchange through shared memory: one-way time and rate of
// messages, and all-reduces of f32. After warm-ups, operations that fill about 0.15 s between two barriers, 7
// times; every result is checked. Run it alone in its session (setsid), since the scheduler shares cores
// between sessions.
//   shm_bench [--ranks N] [--ring BYTES] [--route NAME,...] [--piece BYTES] [--sizes BYTES,...] [--no-pin]
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/check.h"
#include "exchange/exchange.h"
#include "net/shm/shm_fabric.h"

namespace {

using namespace thalweg;

constexpr int kRuns = 7;
constexpr int kWarmUps = 5;
constexpr double kRunSeconds = 0.15;
constexpr Duration kPatience{30'000'000'000};

struct Setting {
  std::uint32_t ranks = 2;
  std::size_t ring_bytes = ShmOptions{}.ring_bytes;
  std::vector<std::string> routes = {"ring", "shared"};
  std::vector<std::size_t> sizes = {4096, 256 << 10, 4 << 20, 64 << 20};
  std::size_t piece_bytes = 0;
  bool pin = true;
};

double seconds() { return static_cast<double>(live_now().ns) * 1e-9; }

template <class T>
std::byte* bytes_of(T& value) {
  void* any = &value;
  return static_cast<std::byte*>(any);
}

float element(std::uint32_t rank, std::size_t i) {
  return static_cast<float>((i * 7 + rank * 13) % 1021);  // Their sums are exact.
}

class Rank {
 public:
  Rank(const Setting& setting, std::uint32_t rank, std::vector<FileDescriptor> sockets)
      : setting_(setting), rank_(rank) {
    ShmOptions options;
    options.rank = rank;
    options.ranks = setting.ranks;
    options.ring_bytes = setting.ring_bytes;
    const bool crowded = setting.ranks > std::thread::hardware_concurrency();
    auto made = ShmFabric::create(std::move(options), std::move(sockets), kPatience, crowded);
    if (!made) {
      fmt::print(stderr, "rank {}: {}\n", rank, made.status().message());
      std::_Exit(1);
    }
    fabric_ = *std::move(made);
  }

  void run() {
    for (const std::size_t size : {std::size_t{64}, std::size_t{4096}}) {
      report("one way", size, time_of([&] { bounce(size); }), 2, 0);
    }
    for (const std::size_t size : {std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{16} << 20}) {
      stream(size);
    }
    for (const std::string& route : setting_.routes) {
      for (const std::size_t size : setting_.sizes) all_reduce(route, size);
    }
  }

 private:
  void report(const std::string& what, std::size_t size, std::vector<double> times, double divisor,
              double bytes) {
    if (rank_ != 0) return;
    std::sort(times.begin(), times.end());
    const auto us = [&](std::size_t i) { return times[i] / divisor * 1e6; };
    fmt::print("{:<22} N={} {:>9} B {:10.2f} us [{:.2f}..{:.2f}]", what, setting_.ranks, size, us(kRuns / 2),
               us(0), us(kRuns - 1));
    if (bytes > 0) fmt::print("  {:.2f} GB/s", bytes / times[kRuns / 2] * 1e-9);
    fmt::print("\n");
    std::fflush(stdout);
  }

  // Seconds of one operation in each run, by rank 0's clock.
  template <class Operate>
  std::vector<double> time_of(const Operate& operate) {
    for (int i = 0; i < kWarmUps; ++i) operate();
    const double begun = seconds();
    for (int i = 0; i < kWarmUps; ++i) operate();
    const std::uint32_t times = agree(kRunSeconds / ((seconds() - begun) / kWarmUps));
    std::vector<double> figures;
    for (int run = 0; run < kRuns; ++run) {
      barrier();
      const double start = seconds();
      for (std::uint32_t i = 0; i < times; ++i) operate();
      barrier();
      figures.push_back((seconds() - start) / times);
    }
    return figures;
  }

  void send(std::uint32_t peer, const std::byte* data, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
      const Piece piece{data + done, size - done};
      const std::size_t taken = fabric_->write({peer, 1}, {&piece, 1});
      done += taken;
      if (taken == 0) fabric_->wait(live_now() + kPatience);
    }
  }
  void receive(std::uint32_t peer, std::byte* into, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
      const std::size_t got = fabric_->read({peer, 1}, into + done, size - done);
      done += got;
      if (got == 0) fabric_->wait(live_now() + kPatience);
    }
  }

  void bounce(std::size_t size) {
    std::byte message[4096] = {};
    if (rank_ > 1) return;
    if (rank_ == 0) send(1, message, size);
    receive(1 - rank_, message, size);
    if (rank_ == 1) send(0, message, size);
  }

  void stream(std::size_t size) {
    std::vector<std::byte> data(size);
    for (std::size_t i = 0; i < size && rank_ == 0; ++i) data[i] = static_cast<std::byte>(i * 13 + i / 256);
    const auto times = time_of([&] {
      if (rank_ == 0) send(1, data.data(), size);
      if (rank_ == 1) receive(0, data.data(), size);
    });
    for (std::size_t i = 0; i < size && rank_ == 1; ++i) {
      THALWEG_CHECK(data[i] == static_cast<std::byte>(i * 13 + i / 256), "what came is what was sent");
    }
    report("stream", size, times, 1, static_cast<double>(size));
  }

  void all_reduce(const std::string& route, std::size_t size) {
    const std::size_t count = size / sizeof(float);
    auto in = fabric_->allocate(size), out = fabric_->allocate(size);
    auto plan = parse_route(route);
    THALWEG_CHECK(in && out && plan, "memory and a known route");
    plan->piece_elements = setting_.piece_bytes / sizeof(float);
    for (std::size_t i = 0; i < count; ++i) {
      const float value = element(rank_, i);
      std::memcpy(*in + i * sizeof value, &value, sizeof value);
    }
    const auto times = time_of([&] {
      Call call;
      call.operation = Operation::kAllReduce;
      call.count = count;
      call.in = *in;
      call.out = *out;
      drive(std::move(call), *plan);
    });
    for (std::size_t i = 0; i < count; ++i) {
      float expected = 0, found = 0;
      for (std::uint32_t rank = 0; rank < setting_.ranks; ++rank) expected += element(rank, i);
      std::memcpy(&found, *out + i * sizeof found, sizeof found);
      THALWEG_CHECK(found == expected, "sums are right");
    }
    const double bus = static_cast<double>(size) * 2 * (setting_.ranks - 1) / setting_.ranks;
    report("all-reduce " + route, size, times, 1, bus);
    barrier();
    fabric_->deallocate(*in);
    fabric_->deallocate(*out);
  }

  void drive(Call call, const Plan& plan) {
    Exchange exchange(std::move(call), plan, rank_, setting_.ranks, sequence_++);
    while (!exchange.advance(*fabric_)) {
      const Instant until = live_now() + kPatience;
      fabric_->wait(until);
      if (live_now() >= until) exchange.fail(Status(Code::kTimeout, "nothing came"));
    }
    if (exchange.status().ok()) return;
    fmt::print(stderr, "rank {}: {}\n", rank_, exchange.status().message());
    std::_Exit(1);
  }
  void barrier() {
    Plan plan;
    plan.route = &routes::kRecursiveDoubling;
    Call call;
    call.operation = Operation::kBarrier;
    drive(std::move(call), plan);
  }
  std::uint32_t agree(double times) {
    float number = static_cast<float>(std::clamp(times, 2.0, 1e6));
    Plan plan;
    plan.route = &routes::kBinomialTree;
    Call call;
    call.operation = Operation::kBroadcast;
    call.count = 1;
    call.in = call.out = bytes_of(number);
    drive(std::move(call), plan);
    return static_cast<std::uint32_t>(number);
  }

  const Setting& setting_;
  std::uint32_t rank_;
  std::unique_ptr<ShmFabric> fabric_;
  std::uint64_t sequence_ = 0;
};

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  fmt::print(stderr, "'{}': expected a number\n", text);
  std::_Exit(2);
}

Setting parse(int argc, char** argv) {
  Setting setting;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--no-pin") {
      setting.pin = false;
      continue;
    }
    const std::string_view value = i + 1 < argc ? argv[++i] : "";
    if (name == "--ranks") setting.ranks = static_cast<std::uint32_t>(number(value));
    if (name == "--ring") setting.ring_bytes = number(value);
    if (name == "--route") setting.routes = split(value);
    if (name == "--piece") setting.piece_bytes = number(value);
    if (name != "--sizes") continue;
    setting.sizes.clear();
    for (const std::string& size : split(value)) setting.sizes.push_back(number(size));
  }
  return setting;
}

}  // namespace

int main(int argc, char** argv) {
  const Setting setting = parse(argc, argv);
  const std::uint32_t ranks = setting.ranks;
  std::vector<std::vector<FileDescriptor>> mesh(ranks);
  for (auto& row : mesh) row.resize(ranks);
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (std::uint32_t b = a + 1; b < ranks; ++b) {
      int ends[2];
      THALWEG_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a socket for each pair");
      mesh[a][b] = FileDescriptor(ends[0]);
      mesh[b][a] = FileDescriptor(ends[1]);
    }
  }
  std::uint32_t rank = 0;
  for (std::uint32_t other = 1; other < ranks && rank == 0; ++other) rank = ::fork() == 0 ? other : 0;
  std::vector<FileDescriptor> sockets = std::move(mesh[rank]);
  mesh.clear();
  if (setting.pin) {
    cpu_set_t core{};
    CPU_SET(rank % static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN)), &core);
    ::sched_setaffinity(0, sizeof core, &core);
  }
  Rank(setting, rank, std::move(sockets)).run();
  if (rank != 0) return 0;
  int wrong = 0;
  for (int how = 0; ::wait(&how) > 0;) wrong += how != 0;
  return wrong > 0;
}
