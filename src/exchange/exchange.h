// One rank's part in one operation: takes its lanes' steps as far as bytes and room allow. No I/O, time or
// thread of its own; a driver calls advance() whenever a link may have changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exchange/combine.h"
#include "exchange/lane.h"
#include "exchange/plan.h"
#include "exchange/preface.h"
#include "node/fabric.h"
#include "thalweg/status.h"

namespace thalweg {

// An operation as its caller asks for it. Buffers stay the caller's and unchanged by others until the end.
struct Call {
  Operation operation{};
  Arithmetic arithmetic = Arithmetic::of(DataType::kF32, Reduction::kSum);
  std::uint64_t count = 0;  // Elements of the whole vector; all-to-all: of what this rank contributes.
  std::uint32_t root = 0;
  std::uint32_t peer = 0;         // Point to point: who receives.
  const std::byte* in = nullptr;  // May be null where the rank contributes nothing, or in a phantom call.
  std::byte* out = nullptr;       // May be `in` (of all-gather and the like: in's place within it).
  // Where each rank's part begins, and the end: ranks + 1 numbers. Empty: nearly equal parts.
  std::vector<std::uint64_t> parts;
  std::vector<std::uint64_t> parts_out;  // All-to-all: the same of what this rank receives.
  bool phantom = false;                  // Sizes only: nothing is read, written or checked.
};

class Exchange {
 public:
  // `sequence` counts the group's operations; lanes use the channels from `first_channel` on.
  // Precondition: check_plan() is OK; `plan` outlives the exchange.
  Exchange(Call call, const Plan& plan, std::uint32_t rank, std::uint32_t ranks, std::uint64_t sequence = 0,
           std::uint16_t first_channel = 0);
  ~Exchange();

  // True when the rank's part is over, well or with a status.
  bool advance(Fabric& fabric);
  void fail(Status status);
  bool done() const { return done_; }
  const Status& status() const { return status_; }

  // The rank that this one waits for, and in what step; for the error that names it.
  struct Waiting {
    std::uint32_t peer = 0;
    std::string step;  // "lane 0 step 5: receive 1024 elements at 4096 from rank 3"
  };
  Waiting waiting() const;
  std::string name() const;  // "all-reduce #12 of 1048576 f32 by ring"

  std::uint64_t bytes_sent() const { return bytes_sent_; }  // Payload alone.
  std::uint64_t messages_sent() const { return messages_sent_; }

 private:
  struct Outgoing;
  struct Running;
  enum class Progress : std::uint8_t { kStep, kPart, kNone };

  Block own_part() const;
  Block work_block() const;
  void place_buffers();
  std::byte* address(Buffer buffer, Block block);
  void deliver();
  bool run(Running& lane, Fabric& fabric);
  Progress take(Running& lane, Fabric& fabric);
  Progress begin_send(Running& lane, Fabric& fabric);
  Progress take_receive(Running& lane, Fabric& fabric);
  Progress take_reduce(Running& lane, Fabric& fabric);
  Progress take_copy(Running& lane, Fabric& fabric);
  bool read_split(Running& lane, Fabric& fabric, std::uint32_t peer, std::size_t size);
  bool greeted_by(Running& lane, Fabric& fabric, std::uint32_t peer);
  bool flush(Running& lane, Fabric& fabric);
  bool still_sending(Running& lane, const std::byte* begin, std::size_t size, Fabric& fabric);
  std::size_t bytes_of(Block block) const { return block.count * call_.arithmetic.element_bytes; }

  Call call_;
  const Plan& plan_;
  std::uint32_t rank_;
  std::uint32_t ranks_;
  Preface preface_;
  std::uint32_t contributors_;
  std::size_t in_begin_ = 0;  // Bytes of the vector before the caller's buffers.
  std::size_t out_begin_ = 0;
  bool work_is_out_ = false;  // Else the result comes to be in `work_`.
  std::byte token_[4] = {};   // A barrier's vector.
  std::unique_ptr<std::byte[]> work_;
  std::unique_ptr<std::byte[]> spare_;
  std::vector<Running> lanes_;
  std::uint32_t lanes_left_ = 0;
  bool done_ = false;
  Status status_;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t messages_sent_ = 0;
};

}  // namespace thalweg
