// How fast contributions combine: GB/s of result, in buffers that fit the second-level cache and that do not.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <string>
#include <vector>

#include "exchange/combine.h"

namespace thalweg {
namespace {

std::vector<std::byte> ones(std::size_t bytes) { return std::vector<std::byte>(bytes, std::byte{1}); }

void combine_into(benchmark::State& state, DataType type, Reduction reduction) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> a = ones(bytes), b = ones(bytes);
  const CombineFn combine = combine_function(type, reduction);
  for (auto _ : state) {
    combine(a.data(), a.data(), b.data(), bytes / size_bytes(type));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void combine_many(benchmark::State& state, Stores stores) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const auto count = static_cast<std::size_t>(state.range(1));
  const std::vector<std::vector<std::byte>> sources(count, ones(bytes));
  std::vector<const std::byte*> pointers;
  for (const auto& source : sources) pointers.push_back(source.data());
  std::vector<std::byte> out = ones(bytes);
  const CombineManyFn combine = combine_many_function(DataType::kF32, Reduction::kSum, stores);
  for (auto _ : state) {
    combine(out.data(), pointers.data(), count, bytes / sizeof(float));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void add_benchmarks() {
  for (std::size_t t = 0; t < kDataTypes; ++t) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMin, Reduction::kProduct}) {
      const auto type = static_cast<DataType>(t);
      const std::string name = std::string(data_type_name(type)) + "/" + reduction_name(reduction);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) { combine_into(state, type, reduction); })
          ->Arg(64 << 10)
          ->Arg(1 << 20)
          ->Arg(64 << 20);
    }
  }
  for (const Stores stores : {Stores::kCached, Stores::kPastCaches}) {
    const char* name = stores == Stores::kCached ? "many/cached" : "many/past-caches";
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) {
      combine_many(state, stores);
    })->ArgsProduct({{256 << 10, 4 << 20, 64 << 20}, {2, 3, 4, 8}});
  }
}

}  // namespace
}  // namespace thalweg

int main(int count, char** arguments) {
  thalweg::add_benchmarks();
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
