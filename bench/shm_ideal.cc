// The least that an all-reduce between processes of one machine can cost: all inputs and outputs lie in one
// shared mapping, each rank sums its slice of all inputs into all outputs, between two spinning barriers.
//   shm_ideal RANKS
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "bench/exchange_method.h"

namespace {

using namespace thalweg::bench;

struct Shared {
  alignas(64) std::atomic<int> arrived{0};
  alignas(64) std::atomic<int> round{0};
  alignas(64) int value = 0;
};

template <class T>
T* share(std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::exit(1);
  (void)::madvise(at, bytes, MADV_HUGEPAGE);
  return static_cast<T*>(at);
}

class SpinningRanks {
 public:
  SpinningRanks(Shared& shared, int rank, int size) : shared_(shared), rank_(rank), size_(size) {}
  int rank() const { return rank_; }
  int size() const { return size_; }
  void barrier() {
    const int round = shared_.round.load(std::memory_order_relaxed);
    if (shared_.arrived.fetch_add(1, std::memory_order_acq_rel) == size_ - 1) {
      shared_.arrived.store(0, std::memory_order_relaxed);
      shared_.round.store(round + 1, std::memory_order_release);
      return;
    }
    constexpr int kSpins = 2000;  // More ranks than cores give theirs away at once.
    for (int spins = 0; shared_.round.load(std::memory_order_acquire) == round;) {
      if (size_ <= 2 && ++spins < kSpins) {
        __builtin_ia32_pause();
      } else {
        ::sched_yield();
      }
    }
  }
  int broadcast(int value) {
    if (rank_ == 0) shared_.value = value;
    barrier();
    const int all = shared_.value;
    barrier();
    return all;
  }

 private:
  Shared& shared_;
  int rank_, size_;
};

// Slice [begin, end) of the sum of all inputs, into all outputs; `stride` floats from one rank's to the
// next's.
template <int kRanks>
void sum_slice(const float* in, float* out, std::size_t stride, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    float sum = in[i];
    for (int r = 1; r < kRanks; ++r) sum += in[static_cast<std::size_t>(r) * stride + i];
    for (int r = 0; r < kRanks; ++r) out[static_cast<std::size_t>(r) * stride + i] = sum;
  }
}

template <int kRanks>
void run(SpinningRanks& ranks, float* in, float* out, std::size_t stride) {
  const Series series{"ideal", "shm", "one mapping"};
  const auto rank = static_cast<std::size_t>(ranks.rank());
  for (const std::size_t bytes : kSizes) {
    const std::size_t count = bytes / sizeof(float), part = count / kRanks;
    const std::span<float> own(in + rank * stride, count), result(out + rank * stride, count);
    fill(own, ranks.rank());
    const std::size_t begin = part * rank, end = ranks.rank() == kRanks - 1 ? count : begin + part;
    const auto operation = [&] {
      ranks.barrier();
      sum_slice<kRanks>(in, out, stride, begin, end);
      ranks.barrier();
    };
    operation();
    check_sum(result, kRanks, series);
    measure(ranks, series, "all-reduce", bytes, operation);
    check_sum(result, kRanks, series);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int size = argc > 1 ? std::atoi(argv[1]) : 2;
  if (size != 2 && size != 4) return 2;
  const std::size_t bytes = kSizes[std::size(kSizes) - 1], stride = bytes / sizeof(float);
  auto& shared = *new (share<Shared>(sizeof(Shared))) Shared;
  float* const in = share<float>(bytes * static_cast<std::size_t>(size));
  float* const out = share<float>(bytes * static_cast<std::size_t>(size));
  const pid_t starter = ::getpid();
  int rank = 0;
  for (int r = 1; r < size && ::getpid() == starter; ++r) {
    if (::fork() == 0) rank = r;
  }
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<std::size_t>(rank) % static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN)), &cores);
  (void)::sched_setaffinity(0, sizeof cores, &cores);
  SpinningRanks ranks(shared, rank, size);
  size == 2 ? run<2>(ranks, in, out, stride) : run<4>(ranks, in, out, stride);
  if (::getpid() != starter) ::_exit(0);
  int failed = 0;
  for (int status = 0; ::wait(&status) > 0;) failed |= status;
  return failed == 0 ? 0 : 1;
}
