// One rank's part in one operation: takes its lanes' steps as far as bytes and room allow. No I/O, time or
// thread of its own; a driver calls advance() whenever a link may have changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exchange/buffers.h"
#include "exchange/call.h"
#include "exchange/lane.h"
#include "exchange/plan/plan.h"
#include "exchange/preface.h"
#include "node/fabric.h"
#include "thalweg/status.h"

namespace thalweg {

class Exchange {
 public:
  // `sequence` counts the operations of `group`; lanes use the channels from `first_channel` on.
  // Precondition: check_plan() is OK, and check_order() where the arithmetic is ordered; `plan` outlives the
  // exchange.
  // `memory`: where what does not fit into its own goes; it outlives the exchange.
  Exchange(Call call, const Plan& plan, std::uint32_t rank, std::uint32_t ranks, std::uint64_t sequence = 0,
           std::uint16_t first_channel = 0, std::uint64_t group = 0,
           std::pmr::memory_resource* memory = std::pmr::new_delete_resource());
  ~Exchange();

  // The same operation again, with a number of its own. Precondition: it has ended well, or not begun.
  void restart(std::uint64_t sequence, std::uint16_t first_channel);
  // What may differ from time to time, before it begins.
  Call& call() { return call_; }

  // True when the rank's part is over, well or with a status.
  bool advance(Fabric& fabric);
  // The same where nothing has changed since but what has come on that channel, which is one lane's affair.
  bool advance(Fabric& fabric, std::uint16_t arrived_on);
  void fail(Status status);
  // A better word on why it has failed.
  void explain(Status why) { status_ = std::move(why); }
  bool done() const { return done_; }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return ranks_; }
  const Status& status() const { return status_; }

  // The rank that this one waits for, and for the error that names it in what step: "lane 0 step 5: receive
  // 1024 elements at 4096 from rank 3".
  std::uint32_t waits_for() const;
  std::string waits_in() const;
  const Preface& preface() const { return preface_; }
  // What a peer has called that made it fail, if that did.
  const std::optional<PrefaceOf>& contradiction() const { return contradiction_; }
  std::string name() const;  // "all-reduce #12 of 1048576 f32 by ring"

  // Whether this rank has heard from another, so far.
  bool heard() const;
  // Whether all buffers were in group memory, and worked on there.
  bool in_group_memory() const { return shared_; }
  // Whether it read peers' memory, so that its result is one only if they have not given up by then.
  bool reads_memory() const { return shared_ || copied_; }
  std::uint64_t bytes_sent() const { return bytes_sent_; }  // Payload alone.
  std::uint64_t messages_sent() const { return messages_sent_; }

 private:
  struct Outgoing;
  struct Running;
  enum class Progress : std::uint8_t { kStep, kPart, kNone };

  void make_running(std::uint16_t first_channel);
  const Running* waiting() const;
  bool run(Running& lane, Fabric& fabric);
  Progress take(Running& lane, Fabric& fabric);
  Progress begin_send(Running& lane, Fabric& fabric);
  bool greets_for_nothing() const;
  Progress begin_empty_send(Running& lane, Fabric& fabric);
  Progress take_nothing(Running& lane, Fabric& fabric);
  Progress begin_phantom_send(Running& lane, Link to, std::size_t size, Fabric& fabric);
  Progress take_receive(Running& lane, Fabric& fabric);
  Progress take_reduce(Running& lane, Fabric& fabric);
  Progress work_shared(Running& lane, Fabric& fabric);
  void apply(const LaneStep& step, std::byte* to, const std::byte* from, const std::byte* theirs,
             std::size_t count) const;
  Progress work_ordinary(Running& lane, Fabric& fabric);
  Progress take_copy(Running& lane, Fabric& fabric);
  bool read_split(Running& lane, Fabric& fabric, std::uint32_t peer, void* into, std::size_t size);
  Preface preface_to(std::uint32_t peer) const;
  Preface preface_from(std::uint32_t peer) const;
  bool greeted_by(Running& lane, Fabric& fabric, std::uint32_t peer);
  bool flush(Running& lane, Fabric& fabric);
  bool still_sending(Running& lane, const std::byte* begin, std::size_t size, Fabric& fabric);
  std::size_t bytes_of(const LaneStep& step) const { return buffers_.bytes_of(step.from, step.block.count); }

  Operation asked_;          // `call_` has an all-reduce instead of a barrier.
  std::byte token_[4] = {};  // A barrier's vector.
  Call call_;
  const Plan& plan_;
  Preface preface_;
  std::uint32_t rank_;
  std::uint32_t ranks_;
  std::uint32_t contributors_;
  Buffers buffers_;
  std::array<std::byte, 768> room_;  // For the lanes of a short operation.
  std::pmr::monotonic_buffer_resource memory_;
  std::pmr::vector<Running> lanes_;
  std::uint32_t lanes_left_ = 0;
  bool placed_ = false;
  bool copied_ = false;
  bool shared_ = false;
  std::optional<std::uint32_t> unreachable_;  // A rank whose memory cannot be read.
  bool done_ = false;
  Status status_;
  std::optional<PrefaceOf> contradiction_;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t messages_sent_ = 0;
};

}  // namespace thalweg
