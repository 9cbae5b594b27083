#include "cli/work/machine_meter.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "cli/work/local_ranks.h"
#include "exchange/combine/combine.h"

namespace thalweg {
namespace {

constexpr int kMeterRuns = 9;
// Below and above what loopback and rings take in one piece.
constexpr std::size_t kShortBytes = 64, kMiddleBytes = std::size_t{256} << 10,
                      kLongBytes = std::size_t{1} << 20;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Of one call, of the fastest run: others' work only adds to it.
template <class Once>
double fastest(std::size_t times, const Once& once) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kMeterRuns; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < times; ++i) once();
    best = std::min(best, seconds_since(begin) / static_cast<double>(times));
  }
  return best;
}

// What passes between two ranks.
class MeteredLink {
 public:
  explicit MeteredLink(Group& group) : group_(group), in_(kLongBytes / sizeof(float), 1), out_(in_.size()) {}

  // A vector there, then one back; half of that.
  double one_way(std::size_t bytes) {
    const std::span<float> data(in_.data(), bytes / sizeof(float));
    const std::uint32_t other = 1 - group_.rank();
    return fastest(
               times(bytes),
               [&] {
                 const bool first = group_.rank() == 0;
                 keep(first ? group_.send(std::span<const float>(data), other) : group_.receive(data, other));
                 keep(first ? group_.receive(data, other) : group_.send(std::span<const float>(data), other));
               }) /
           2;
  }
  // Of short messages one after another in one direction, each.
  double in_a_row() {
    const std::span<float> data(in_.data(), kShortBytes / sizeof(float));
    const std::uint32_t other = 1 - group_.rank();
    constexpr std::size_t kInARow = 1000;
    return fastest(
               1,
               [&] {
                 const bool sends = group_.rank() == 0;
                 for (std::size_t i = 0; i < kInARow; ++i)
                   keep(sends ? group_.send(std::span<const float>(data), other)
                              : group_.receive(data, other));
                 keep(sends ? group_.receive(data, other) : group_.send(std::span<const float>(data), other));
               }) /
           (kInARow + 1);
  }
  // Vectors in both directions at once.
  double both_ways(std::size_t bytes) {
    const std::size_t count = bytes / sizeof(float);
    const std::uint32_t others[] = {1 - group_.rank()};
    return fastest(times(bytes), [&] {
      keep(group_.exchange_with<float>(others, std::span(in_).first(count), std::span(out_).first(count)));
    });
  }
  const Status& status() const { return status_; }

 private:
  static std::size_t times(std::size_t bytes) {
    return std::clamp<std::size_t>((std::size_t{8} << 20) / bytes, 8, 1000);
  }
  void keep(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  Group& group_;
  std::vector<float> in_, out_;
  Status status_;
};

}  // namespace

// Messages in a row follow each other as fast as either end is done with one; the first one waits for the
// latency as well. A byte that goes each way is copied twice by each core. D. Culler et al., "LogP: towards a
// realistic model of parallel computation", PPoPP 1993.
Result<TransportCosts> measure_transport(std::string_view transport) {
  TransportCosts costs;
  const Status status = run_local_ranks(2, transport, [&costs](Group& group) {
    MeteredLink link(group);
    const double one = link.one_way(kShortBytes), next = link.in_a_row();
    const double middle = link.both_ways(kMiddleBytes), longer = link.both_ways(kLongBytes);
    if (!link.status().ok()) return link.status();
    costs.message_seconds = std::min(next, one);
    costs.latency_seconds = one - costs.message_seconds;
    const double each = longer > middle ? (longer - middle) / static_cast<double>(kLongBytes - kMiddleBytes)
                                        : longer / static_cast<double>(kLongBytes);
    costs.bytes_per_second = 2 / each;
    return group.barrier();
  });
  if (!status.ok()) return status;
  return costs;
}

void measure_core(MachineCosts& costs) {
  constexpr std::size_t kNear = std::size_t{128} << 10, kFar = std::size_t{64} << 20;
  const long cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (cache > 0) costs.cache_bytes = static_cast<double>(cache);
  std::vector<std::byte> far(kFar, std::byte{1}), near(kNear, std::byte{1}), sum(kNear);
  const Arithmetic& add = Arithmetic::of(DataType::kF32, Reduction::kSum);
  const double adding =
      fastest(64, [&] { add.apply(sum.data(), sum.data(), near.data(), kNear / sizeof(float)); });
  costs.add_seconds_per_byte = adding / static_cast<double>(kNear);
  const double cached = fastest(64, [&] { std::memcpy(sum.data(), near.data(), kNear); });
  const double fetched = fastest(1, [&] {
    for (std::size_t at = 0; at < kFar; at += kNear) std::memcpy(sum.data(), far.data() + at, kNear);
  });
  costs.fetch_seconds_per_byte =
      std::max(0.0, fetched / static_cast<double>(kFar) - cached / static_cast<double>(kNear));
}

}  // namespace thalweg
