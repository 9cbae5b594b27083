// Ranks of one process for tests: one operation after another over the loop fabric, by the production code.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exchange/loop_fabric_for_test.h"

namespace thalweg {

class LoopRanks {
 public:
  LoopRanks(std::uint32_t ranks, const std::string& route, std::uint64_t seed = 1)
      : ranks_(ranks), seed_(seed) {
    auto plan = parse_route(route);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    plan_ = *plan;
  }
  std::uint32_t size() const { return ranks_; }
  Plan& plan() { return plan_; }

  // Every rank's vector becomes the sum of all; they are of one size.
  template <class T>
  void all_reduce(const Arithmetic& arithmetic, std::vector<std::vector<T>>& vectors) {
    std::vector<std::pair<const std::byte*, std::byte*>> buffers;
    for (auto& vector : vectors) buffers.emplace_back(bytes(vector), bytes(vector));
    run(Operation::kAllReduce, arithmetic, vectors[0].size() * sizeof(T) / arithmetic.element_bytes, buffers);
  }
  // What every rank finds: all ranks' bytes, which are equally many, one after the other.
  std::vector<std::byte> all_gather(const std::vector<std::vector<std::byte>>& parts) {
    Arithmetic any = Arithmetic::of(DataType::kF32, Reduction::kSum);
    any.element_bytes = 1;
    std::vector<std::vector<std::byte>> out(ranks_, std::vector<std::byte>(parts[0].size() * ranks_));
    std::vector<std::pair<const std::byte*, std::byte*>> buffers;
    for (std::uint32_t r = 0; r < ranks_; ++r) buffers.emplace_back(parts[r].data(), out[r].data());
    run(Operation::kAllGather, any, out[0].size(), buffers);
    for (const auto& other : out) EXPECT_EQ(other, out[0]);
    return out[0];
  }

 private:
  template <class T>
  static std::byte* bytes(std::vector<T>& vector) {
    return static_cast<std::byte*>(static_cast<void*>(vector.data()));
  }
  void run(Operation operation, const Arithmetic& arithmetic, std::uint64_t count,
           const std::vector<std::pair<const std::byte*, std::byte*>>& buffers) {
    LoopNetwork network(seed_ + sequence_, 1 << 14, true);
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      Call call;
      call.operation = operation;
      call.arithmetic = arithmetic;
      call.count = count;
      call.in = buffers[r].first;
      call.out = buffers[r].second;
      exchanges.push_back(std::make_unique<Exchange>(std::move(call), plan_, r, ranks_, sequence_));
    }
    ++sequence_;
    ASSERT_TRUE(run_all(network, exchanges)) << "stuck: " << exchanges[0]->waits_in();
    for (const auto& exchange : exchanges) {
      ASSERT_TRUE(exchange->status().ok()) << exchange->status().message();
    }
  }

  std::uint32_t ranks_;
  std::uint64_t seed_;
  std::uint64_t sequence_ = 0;
  Plan plan_;
};

}  // namespace thalweg
