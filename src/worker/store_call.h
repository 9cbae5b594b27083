// What a data shard's program asks for. It goes out once the program has come to a halt, so that a program
// need not share a thread with the worker's protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/completion.h"
#include "thalweg/store.h"

namespace thalweg {

struct StoreCall {
  enum class Kind : std::uint8_t { kPush, kPull, kBarrier, kReport, kScan, kCount, kLoad, kYield };

  Kind kind{};
  TableId table{};
  Step step{};  // Barrier, report: in_place_of_step().
  Keys keys{};
  Rows grads{};
  std::uint8_t flags = 0;     // Of the frames.
  std::uint32_t version = 0;  // Push: see FrameHeader.
  std::string text{};         // Report; load of what is known of a range.
  RangeId range{};            // Scan, load.
  std::shared_ptr<Completion> completion = std::make_shared<Completion>();
};

}  // namespace thalweg
