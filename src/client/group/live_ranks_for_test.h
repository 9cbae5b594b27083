// All ranks of a group in one thread over a transport of the real world, for tests where a time slice for
// each message would take too long.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <memory_resource>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "exchange/exchange.h"
#include "net/group/form_group.h"
#include "net/in_process/in_process_fabric.h"
#include "net/socket/reserved_port_for_test.h"

namespace thalweg {

class LiveRanks {
 public:
  static LiveRanks in_process(std::uint32_t ranks) { return LiveRanks(make_in_process_fabrics(ranks)); }
  // Ranks that meet as processes do.
  static LiveRanks joined(std::uint32_t ranks, GroupTransport transport, bool reads_memory = true) {
    GroupOptions options;
    options.reads_memory = reads_memory;
    options.size = ranks;
    options.transport = transport;
    options.master_port = port_for_this_test();
    std::vector<std::unique_ptr<LiveFabric>> fabrics(ranks);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([options, rank, &fabrics]() mutable {
        options.rank = rank;
        auto formed = form_group(options);
        EXPECT_TRUE(formed.ok()) << formed.status().message();
        if (formed) fabrics[rank] = *std::move(formed);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return LiveRanks(std::move(fabrics));
  }

  // Runs one exchange a rank until all are done, or one has failed.
  Status run(std::span<const std::unique_ptr<Exchange>> exchanges) {
    const Instant deadline = live_now() + std::chrono::seconds(60);
    for (;;) {
      const Exchange* waits = nullptr;
      for (std::size_t rank = 0; rank < exchanges.size(); ++rank) {
        if (!exchanges[rank]->advance(*fabrics_[rank])) waits = exchanges[rank].get();
        if (exchanges[rank]->done() && !exchanges[rank]->status().ok()) return exchanges[rank]->status();
      }
      if (!waits) return {};
      if (live_now() < deadline) continue;
      return {Code::kTimeout,
              waits->name() + ": rank " + std::to_string(waits->rank()) + " is at " + waits->waits_in()};
    }
  }
  // Group memory.
  std::pmr::memory_resource* memory(std::uint32_t rank) { return &memories_[rank]; }

 private:
  class Memory final : public std::pmr::memory_resource {
   public:
    explicit Memory(LiveFabric& fabric) : fabric_(fabric) {}

   private:
    void* do_allocate(std::size_t size, std::size_t) override {
      const Result<std::byte*> made = fabric_.allocate(size);
      EXPECT_TRUE(made.ok()) << made.status().message();
      return made ? *made : nullptr;
    }
    void do_deallocate(void* data, std::size_t, std::size_t) override {
      fabric_.deallocate(static_cast<std::byte*>(data));
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
      return this == &other;
    }
    LiveFabric& fabric_;
  };
  explicit LiveRanks(std::vector<std::unique_ptr<LiveFabric>> fabrics) : fabrics_(std::move(fabrics)) {
    for (auto& fabric : fabrics_) memories_.emplace_back(*fabric);
  }

  std::vector<std::unique_ptr<LiveFabric>> fabrics_;
  std::vector<Memory> memories_;
};

}  // namespace thalweg
