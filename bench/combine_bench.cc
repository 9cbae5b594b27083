// How fast contributions combine, the stages of a reproducible sum, and codecs: GB/s of result or gradient,
// in buffers that fit the second-level cache and that do not.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/random.h"
#include "exchange/codec/codec.h"
#include "exchange/combine/combine.h"
#include "exchange/combine/reproducible.h"

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

enum class Stage { kExponents, kIntegers, kDecode };

void reproducible_stage(benchmark::State& state, DataType type, Stage stage) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::size_t count = bytes / size_bytes(type);
  const std::vector<std::byte> values = ones(bytes);
  const std::byte* const contribution = values.data();
  std::vector<std::byte> exponents(count * reproducible::exponent_bytes(type)), out(bytes);
  std::vector<std::int64_t> integers(count * reproducible::integers_per_element(type));
  reproducible::encode_exponents(type, {&contribution, 1}, count, exponents.data());
  for (auto _ : state) {
    switch (stage) {
      case Stage::kExponents:
        reproducible::encode_exponents(type, {&contribution, 1}, count, exponents.data());
        break;
      case Stage::kIntegers:
        reproducible::encode_integers(type, {&contribution, 1}, count, exponents.data(), integers.data());
        break;
      case Stage::kDecode:
        reproducible::decode(type, exponents.data(), integers.data(), count, out.data());
        break;
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void codec(benchmark::State& state, const char* name, bool encodes) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const auto codec = make_codec(*parse_codec(name));
  Random random(1);
  std::vector<float> gradient(bytes / sizeof(float)), residual(gradient.size()), sum(gradient.size());
  for (float& value : gradient) value = static_cast<float>(random.normal());
  std::vector<std::byte> encoded(codec->encoded_bytes(gradient.size()));
  codec->encode(gradient, residual, {}, encoded);
  for (auto _ : state) {
    if (encodes) codec->encode(gradient, residual, {}, encoded);
    if (!encodes && !codec->decode_add(encoded, {}, 0.5f, sum).ok()) state.SkipWithError("decoding");
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void add_benchmarks() {
  for (const char* name : {"f16", "bf16", "int8", "top-k:0.01", "random-k:0.01", "sign"}) {
    for (const bool encodes : {true, false}) {
      benchmark::RegisterBenchmark((std::string("codec/") + name + (encodes ? "/encode" : "/decode")).c_str(),
                                   [=](benchmark::State& state) { codec(state, name, encodes); })
          ->Arg(1 << 20)
          ->Arg(25 << 20);
    }
  }
  for (const DataType type : {DataType::kF32, DataType::kF64}) {
    const char* const names[] = {"exponents", "integers", "decode"};
    for (const Stage stage : {Stage::kExponents, Stage::kIntegers, Stage::kDecode}) {
      const std::string name =
          std::string("reproducible/") + data_type_name(type) + "/" + names[static_cast<std::size_t>(stage)];
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) { reproducible_stage(state, type, stage); })
          ->Arg(1 << 20)
          ->Arg(64 << 20);
    }
  }
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
