// How every all-reduce is measured, whoever does it: 3 operations to warm up, as many operations a run as
// fill about 0.15 s, a barrier before and after each run, 7 runs, the first rank's clock, the sum checked
// before and after, each rank on a core that as few others as possible share. One line of JSON each.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "src/cli/bind_to_core.h"

namespace thalweg::bench {

// What identifies a series: "openmpi", "shm", "default".
struct Series {
  std::string library, transport, algorithm;
};

// A whole number that floats hold exactly, whatever the order of summation.
inline float contribution(std::size_t i, int rank) {
  return static_cast<float>(i % 1000) + static_cast<float>(rank);
}

inline void fill(std::span<float> values, int rank) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = contribution(i, rank);
}

inline void check_sum(std::span<const float> values, int ranks, const Series& series) {
  const auto offset = static_cast<float>(ranks * (ranks - 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float expected = static_cast<float>(ranks) * contribution(i, 0) + offset;
    if (values[i] == expected) continue;
    fmt::print(stderr, "{} {} {}: element {} is {}, expected {}\n", series.library, series.transport,
               series.algorithm, i, values[i], expected);
    std::exit(1);
  }
}

// Whoever makes the ranks, they are bound alike.
template <class Ranks>
void bind_to_core(const Ranks& ranks) {
  thalweg::bind_to_core(static_cast<std::uint32_t>(ranks.rank()), static_cast<std::uint32_t>(ranks.size()));
}

// One rank's side of a measurement.
//   Ranks: rank(), size(), barrier(), and broadcast(int) of the first rank's value.
//   operation(): one operation.
template <class Ranks, class Operation>
void measure(Ranks& ranks, const Series& series, const char* what, std::size_t bytes, Operation operation) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  constexpr int kWarmUps = 3, kRuns = 7;
  constexpr double kRunSeconds = 0.15;
  ranks.barrier();
  double each = 1e9;  // The least: one that was interrupted tells nothing.
  for (int i = 0; i < kWarmUps; ++i) {
    const auto begin = Clock::now();
    operation();
    each = std::min(each, since(begin));
  }
  const int count = ranks.broadcast(std::clamp(static_cast<int>(kRunSeconds / each), 1, 1'000'000));
  std::vector<double> micros;
  for (int run = 0; run < kRuns; ++run) {
    ranks.barrier();
    const auto start = Clock::now();
    for (int i = 0; i < count; ++i) operation();
    ranks.barrier();
    micros.push_back(since(start) * 1e6 / count);
  }
  if (ranks.rank() != 0) return;
  std::sort(micros.begin(), micros.end());
  const double median = micros[kRuns / 2];
  const double bus_gbps = static_cast<double>(bytes) * 1e-3 / median * 2 * (ranks.size() - 1) / ranks.size();
  fmt::print(
      "{{\"what\":\"{}\",\"library\":\"{}\",\"transport\":\"{}\",\"algorithm\":\"{}\",\"ranks\":{},"
      "\"bytes\":{},\"operations\":{},\"us\":{:.3f},\"us_min\":{:.3f},\"us_max\":{:.3f},\"busbw_gbps\":{:.4f}"
      "}}\n",
      what, series.library, series.transport, series.algorithm, ranks.size(), bytes, count, median,
      micros.front(), micros.back(), bus_gbps);
  std::fflush(stdout);
}

inline constexpr std::size_t kSizes[] = {std::size_t{4} << 10, std::size_t{256} << 10, std::size_t{4} << 20,
                                         std::size_t{64} << 20};
// The list of small tensors: sums of each by itself, or of all in one buffer, copied in and out.
inline constexpr std::size_t kTensors = 10000, kTensorFloats = 1024;

// all_reduce(data): sums in place.
template <class Ranks, class AllReduce>
void measure_lists(Ranks& ranks, const Series& series, AllReduce all_reduce) {
  std::vector<std::vector<float>> tensors(kTensors, std::vector<float>(kTensorFloats));
  std::vector<float> fused(kTensors * kTensorFloats);
  const auto each = [&] {
    for (auto& tensor : tensors) all_reduce(std::span<float>(tensor));
  };
  const auto together = [&] {
    for (std::size_t t = 0; t < kTensors; ++t)
      std::copy(tensors[t].begin(), tensors[t].end(),
                fused.begin() + static_cast<std::ptrdiff_t>(t * kTensorFloats));
    all_reduce(std::span<float>(fused));
    for (std::size_t t = 0; t < kTensors; ++t)
      std::copy_n(fused.begin() + static_cast<std::ptrdiff_t>(t * kTensorFloats), kTensorFloats,
                  tensors[t].begin());
  };
  const auto checked = [&](auto operation) {
    for (auto& tensor : tensors) fill(tensor, ranks.rank());
    operation();
    for (const auto& tensor : tensors) check_sum(tensor, ranks.size(), series);
  };
  const std::size_t bytes = kTensors * kTensorFloats * sizeof(float);
  checked(each);
  measure(ranks, series, "list", bytes, each);
  checked(each);
  checked(together);
  measure(ranks, series, "list, fused", bytes, together);
  checked(together);
}

}  // namespace thalweg::bench
