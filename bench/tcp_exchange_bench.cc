// How fast separate processes exchange: f32 sums and one-way streams between ranks of one machine. After
// 3 warm-ups, operations that fill about 0.15 s between two barriers, 7 times; every result is checked.
//   tcp_exchange_bench [RANKS] [BYTES,...] [ROUTE] [--piece BYTES] [--channels N] [--buffer BYTES] [--spin
//   US]
//                      [--op all-reduce|point-to-point] [--transport tcp|shm|auto] [--no-pin]
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/check.h"
#include "exchange/exchange.h"
#include "net/group/form_group.h"

namespace {

using namespace thalweg;

constexpr int kRuns = 7;
constexpr int kWarmUps = 3;
constexpr double kRunSeconds = 0.15;

struct Setting {
  std::uint32_t ranks = 2;
  std::vector<std::size_t> sizes = {4096, 256 << 10, 4 << 20, 64 << 20};
  std::string route = "ring";
  Operation operation = Operation::kAllReduce;
  std::size_t piece_bytes = 0;
  std::uint32_t channels = 1;
  bool pin = true;
  GroupOptions group;
};

double seconds() { return static_cast<double>(live_now().ns) * 1e-9; }

class Rank {
 public:
  Rank(const Setting& setting, std::uint32_t rank) : setting_(setting), rank_(rank) {
    GroupOptions options = setting.group;
    options.rank = rank;
    options.size = setting.ranks;
    auto formed = form_group(options);
    if (!formed) {
      fmt::print(stderr, "rank {}: {}\n", rank, formed.status().message());
      std::_Exit(1);
    }
    fabric_ = *std::move(formed);
  }

  // Seconds of one operation, by rank 0's clock.
  std::array<double, kRuns> measure(std::size_t size) {
    const std::size_t count = size / sizeof(float);
    auto in = fabric_->allocate(size);
    auto out = fabric_->allocate(size);
    THALWEG_CHECK(in && out, "memory for the vectors");
    in_ = *in, out_ = *out;
    Result<Plan> plan = parse_route(setting_.route);
    THALWEG_CHECK(plan, "a known route");
    plan->channels = setting_.channels;
    plan->piece_elements = setting_.piece_bytes / sizeof(float);
    fill(count);
    for (int i = 0; i < kWarmUps; ++i) operate(*plan, count);
    const double begun = seconds();
    for (int i = 0; i < kWarmUps; ++i) operate(*plan, count);
    const std::uint32_t times = agree(kRunSeconds / ((seconds() - begun) / kWarmUps));
    std::array<double, kRuns> figures{};
    for (double& figure : figures) {
      std::memset(out_, 0, size);
      barrier();
      const double start = seconds();
      for (std::uint32_t i = 0; i < times; ++i) operate(*plan, count);
      barrier();
      figure = (seconds() - start) / times;
      check(count);
    }
    fabric_->deallocate(in_);
    fabric_->deallocate(out_);
    return figures;
  }

 private:
  static float element(std::uint32_t rank, std::size_t i) {
    return static_cast<float>((i * 7 + rank * 13) % 1021);  // Their sums are exact.
  }

  void fill(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const float value = element(rank_, i);
      std::memcpy(in_ + i * sizeof value, &value, sizeof value);
    }
  }

  void check(std::size_t count) const {
    const bool streams = setting_.operation == Operation::kPointToPoint;
    if (streams && rank_ != 1) return;
    for (std::size_t i = 0; i < count; ++i) {
      float expected = streams ? element(0, i) : 0, found = 0;
      for (std::uint32_t rank = 0; !streams && rank < setting_.ranks; ++rank) expected += element(rank, i);
      std::memcpy(&found, out_ + i * sizeof found, sizeof found);
      if (found == expected) continue;
      fmt::print(stderr, "rank {}: element {} is {}, expected {}\n", rank_, i, found, expected);
      std::_Exit(1);
    }
  }

  void operate(const Plan& plan, std::size_t count) {
    Call call;
    call.operation = setting_.operation;
    call.count = count;
    call.in = in_;
    call.out = out_;
    call.peer = 1;
    drive(std::move(call), plan);
  }

  void barrier() {
    Plan plan;
    plan.route = &routes::kRecursiveDoubling;
    Call call;
    call.operation = Operation::kBarrier;
    drive(std::move(call), plan);
  }

  // Rank 0's number of operations, known to all.
  std::uint32_t agree(double times) {
    float number = static_cast<float>(std::clamp(times, 2.0, 1e6));
    Plan plan;
    plan.route = &routes::kBinomialTree;
    Call call;
    call.operation = Operation::kBroadcast;
    call.count = 1;
    void* any = &number;
    call.in = call.out = static_cast<std::byte*>(any);
    drive(std::move(call), plan);
    return static_cast<std::uint32_t>(number);
  }

  void drive(Call call, const Plan& plan) {
    Exchange exchange(std::move(call), plan, rank_, setting_.ranks, sequence_++);
    while (!exchange.advance(*fabric_)) {
      fabric_->wait(kNever);
      if (!fabric_->any_lost()) continue;
      if (exchange.advance(*fabric_)) break;
      fmt::print(stderr, "rank {}: {} lost a peer\n", rank_, exchange.name());
      std::_Exit(1);
    }
    THALWEG_CHECK(exchange.status().ok(), exchange.status().message().c_str());
  }

  const Setting& setting_;
  std::uint32_t rank_;
  std::unique_ptr<LiveFabric> fabric_;
  std::uint64_t sequence_ = 0;
  std::byte* in_ = nullptr;
  std::byte* out_ = nullptr;
};

void print(const Setting& setting, std::size_t size, std::array<double, kRuns> figures) {
  std::sort(figures.begin(), figures.end());
  const double n = setting.ranks;
  const double share = setting.operation == Operation::kAllReduce ? 2 * (n - 1) / n : 1;
  const auto rate = [&](double time) { return static_cast<double>(size) / time * share * 1e-9; };
  fmt::print("{:>10} bytes {:>10.1f} us [{:.1f}..{:.1f}] {:>8.2f} GB/s [{:.2f}..{:.2f}]\n", size,
             figures[kRuns / 2] * 1e6, figures.front() * 1e6, figures.back() * 1e6, rate(figures[kRuns / 2]),
             rate(figures.back()), rate(figures.front()));
  std::fflush(stdout);
}

void run(const Setting& setting, std::uint32_t rank) {
  if (setting.pin) {
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(rank % std::max(std::thread::hardware_concurrency(), 1U), &core);
    ::sched_setaffinity(0, sizeof core, &core);
  }
  Rank self(setting, rank);
  for (const std::size_t size : setting.sizes) {
    const auto figures = self.measure(size);
    if (rank == 0) print(setting, size, figures);
  }
}

// Niceness acts within one login session only, so this needs both.
void take_priority() {
  ::setsid();
  std::ofstream("/proc/self/autogroup") << "-20";
  if (::nice(-20) == -1) fmt::print(stderr, "measuring without priority\n");
}

Setting parse(int argc, char** argv) {
  Setting setting;
  setting.group.transport = GroupTransport::kTcp;
  setting.group.master_port = 29517;
  std::vector<std::string> plain;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto number = [&] { return std::strtoull(argv[++i], nullptr, 10); };
    if (word == "--no-pin") {
      setting.pin = false;
    } else if (i + 1 == argc || !word.starts_with("--")) {
      plain.emplace_back(word);
    } else if (word == "--piece") {
      setting.piece_bytes = number();
    } else if (word == "--channels") {
      setting.channels = static_cast<std::uint32_t>(number());
    } else if (word == "--buffer") {
      setting.group.socket_buffer_bytes = static_cast<int>(number());
    } else if (word == "--spin") {
      setting.group.spin = std::chrono::microseconds(number());
    } else if (word == "--op") {
      setting.operation = parse_operation(argv[++i]).value();
    } else if (word == "--transport") {
      setting.group.transport = parse_group_transport(argv[++i]).value();
    }
  }
  if (!plain.empty()) setting.ranks = static_cast<std::uint32_t>(std::stoul(plain[0]));
  if (plain.size() > 1) {
    setting.sizes.clear();
    for (std::size_t at = 0; at < plain[1].size();
         at = std::min(plain[1].find(',', at), plain[1].size() - 1) + 1) {
      setting.sizes.push_back(std::stoul(plain[1].substr(at)));
    }
  }
  if (plain.size() > 2) setting.route = plain[2];
  return setting;
}

}  // namespace

int main(int argc, char** argv) {
  const Setting setting = parse(argc, argv);
  take_priority();
  std::vector<pid_t> children;
  for (std::uint32_t rank = 0; rank < setting.ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      run(setting, rank);
      std::_Exit(0);
    }
    children.push_back(child);
  }
  int worst = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  return worst;
}
