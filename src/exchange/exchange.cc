#include "exchange/exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "exchange/block.h"
#include "exchange/ordinary_memory.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"
#include "exchange/shared_memory.h"

namespace thalweg {

// Bytes whose sending has begun but not ended. The preface goes first where there is one.
struct Exchange::Outgoing {
  Link to;
  bool prefaced;  // The preface is still to be sent, or part of it: `sent` counts both.
  const std::byte* data;
  std::size_t size;
  std::size_t sent;
  std::uint64_t more = 0;  // Phantom messages of that size that come after.
};

struct Exchange::Running {
  Running(Lane made, std::pmr::memory_resource& memory)
      : lane(std::move(made)), outgoing(&memory), peers(&memory), split(&memory) {}
  static constexpr std::uint8_t kGreeted = 1;  // Our preface has been queued.
  static constexpr std::uint8_t kKnown = 2;    // Its preface has been checked.
  Lane lane;
  std::uint16_t channel = 0;
  bool over = false;
  std::uint64_t steps = 0;
  std::size_t step_bytes = 0;            // Of the present receive: how far it has come.
  std::pmr::vector<Outgoing> outgoing;   // In order for each peer.
  std::pmr::vector<std::uint8_t> peers;  // By rank: kGreeted, kKnown.
  std::pmr::vector<std::byte> split;     // An element whose bytes come in several pieces.
  Preface theirs;                        // A peer's, as far as it has come.
  std::size_t split_bytes = 0;
};

namespace {

// The received elements that are added at once, so that they stay in the second-level cache.
constexpr std::size_t kReduceBytes = std::size_t{256} << 10;

std::uint64_t part_size(const std::vector<std::uint64_t>& parts, std::uint64_t count, std::uint32_t ranks,
                        std::uint32_t rank) {
  return parts.empty() ? part_of({0, count}, ranks, rank).count : parts[rank + std::size_t{1}] - parts[rank];
}

Work work_of(const Call& call, const Plan& plan, std::uint32_t ranks) {
  Work work;
  work.operation = call.operation;
  work.in_place = call.in == call.out;
  work.in_order = combines(call.operation) && call.arithmetic.is_ordered();
  work.by_rank = ranks;
  work.whole = {0, call.count};
  if (!call.parts.empty()) work.parts = call.parts.data();
  if (!call.parts_out.empty()) work.parts_out = call.parts_out.data();
  work.piece = plan.piece_elements;
  if (plan.route->in_memory) {
    work.staged = OrdinaryMemory::staged_elements(call, ranks);
  }
  work.root = call.root;
  work.peer = call.peer;
  work.neighbours = call.neighbours;
  THALWEG_CHECK(!work.parts || call.parts.size() == ranks + 1, "one part a rank");
  return work;
}

// A barrier is an all-reduce of one number of its own.
Call prepared(Call call, std::byte* token) {
  if (call.operation != Operation::kBarrier) return call;
  call.operation = Operation::kAllReduce;
  call.arithmetic = Arithmetic::of(DataType::kI32, Reduction::kSum);
  call.count = 1;
  call.in = call.out = token;
  return call;
}

}  // namespace

Exchange::Exchange(Call call, const Plan& plan, std::uint32_t rank, std::uint32_t ranks,
                   std::uint64_t sequence, std::uint16_t first_channel, std::uint64_t group,
                   std::pmr::memory_resource* memory)
    : asked_(call.operation),
      call_(prepared(std::move(call), token_)),
      plan_(plan),
      preface_(preface_of(asked_, call_, plan, {ranks, sequence, group})),
      rank_(rank),
      ranks_(ranks),
      contributors_(ranks - plan.servers),
      buffers_(call_, plan, rank, ranks),
      memory_(room_.data(), room_.size(), memory),
      lanes_(&memory_) {
  make_running(first_channel);
}

void Exchange::make_running(std::uint16_t first_channel) {
  std::pmr::vector<Lane> lanes(&memory_);
  Work work = work_of(call_, plan_, ranks_);
  // Those of a phantom's steps go back once they are over: of thousands of ranks they are what takes memory.
  work.frames = call_.phantom ? memory_.upstream_resource() : &memory_;
  make_lanes(work, plan_, rank_, ranks_, buffers_.places(), lanes);
  lanes_.reserve(lanes.size());
  for (Lane& lane : lanes) {
    Running& running = lanes_.emplace_back(std::move(lane), memory_);
    running.channel = static_cast<std::uint16_t>(first_channel + lanes_.size() - 1);
    if (!call_.phantom) running.peers.resize(ranks_);
  }
  for (Running& lane : lanes_) lane.over = !lane.lane.next();
  lanes_left_ = static_cast<std::uint32_t>(
      std::count_if(lanes_.begin(), lanes_.end(), [](const Running& lane) { return !lane.over; }));
}

Exchange::~Exchange() = default;

void Exchange::restart(std::uint64_t sequence, std::uint16_t first_channel) {
  THALWEG_CHECK(status_.ok(), "an exchange that failed is not made again");
  std::pmr::vector<Running>(&memory_).swap(lanes_);
  memory_.release();
  preface_.sequence = sequence;
  buffers_.forget_places();
  call_.sent = placed_ = copied_ = shared_ = done_ = false;
  call_.copies = CopyWay::kFetch;
  unreachable_.reset();
  bytes_sent_ = messages_sent_ = 0;
  make_running(first_channel);
}

bool Exchange::advance(Fabric& fabric) {
  if (done_) return true;
  if (!placed_ && plan_.route->in_memory && !call_.phantom) {
    buffers_.set_place(rank_, fabric, lanes_[0].channel);
    placed_ = true;
  }
  bool moved = true;
  while (moved && !done_) {
    moved = false;
    for (Running& lane : lanes_) {
      if (run(lane, fabric)) moved = true;
      if (done_) break;
    }
    if (lanes_left_ == 0) done_ = true;
    if (lanes_.size() == 1) break;  // It went as far as it could.
  }
  if (done_ && status_.ok() && !call_.phantom) buffers_.deliver();
  return done_;
}

bool Exchange::advance(Fabric& fabric, std::uint16_t arrived_on) {
  const std::size_t lane = arrived_on - (lanes_.empty() ? 0 : lanes_.front().channel);
  if (done_ || lane >= lanes_.size() || lanes_.size() == 1) return advance(fabric);
  while (run(lanes_[lane], fabric) && !done_ && lanes_left_ > 0) {
  }
  return lanes_left_ > 0 && !done_ ? false : advance(fabric);
}

void Exchange::fail(Status status) {
  if (done_) return;
  status_ = std::move(status);
  done_ = true;
}

// Whether anything happened.
bool Exchange::run(Running& lane, Fabric& fabric) {
  if (lane.over && lane.outgoing.empty()) return false;
  bool moved = false;
  if (!lane.outgoing.empty() && flush(lane, fabric)) moved = true;
  while (!lane.over) {
    const Progress progress = take(lane, fabric);
    if (done_) return true;
    if (progress == Progress::kNone) break;
    moved = true;
    if (progress == Progress::kPart) continue;
    ++lane.steps;
    lane.step_bytes = 0;
    lane.over = !lane.lane.next();
  }
  if (lane.over && lane.outgoing.empty()) --lanes_left_;
  return moved;
}

Exchange::Progress Exchange::take(Running& lane, Fabric& fabric) {
  const LaneStep& step = lane.lane.step();
  switch (step.kind) {
    case LaneStep::Kind::kSend:
      return begin_send(lane, fabric);
    case LaneStep::Kind::kReceive:
      return take_receive(lane, fabric);
    case LaneStep::Kind::kReduce:
      return take_reduce(lane, fabric);
    case LaneStep::Kind::kCopy:
      return take_copy(lane, fabric);
    case LaneStep::Kind::kShared:
      return work_shared(lane, fabric);
    case LaneStep::Kind::kOffer:
    case LaneStep::Kind::kOfferEarly:
    case LaneStep::Kind::kSum:
    case LaneStep::Kind::kTake:
    case LaneStep::Kind::kFetch:
    case LaneStep::Kind::kAdd:
      return work_ordinary(lane, fabric);
    case LaneStep::Kind::kFinish:
      break;
  }
  if (!call_.phantom && step.block.count > 0) {
    call_.arithmetic.finish(buffers_.address(Buffer::kWork, step.block), step.block.count, contributors_);
  }
  return Progress::kStep;
}

Exchange::Progress Exchange::work_shared(Running& lane, Fabric& fabric) {
  if (call_.phantom) return Progress::kStep;
  if (unreachable_) return Progress::kNone;
  const HeldMemory held(call_, rank_, ranks_, fabric, lane.channel, preface_.sequence);
  unreachable_ = held.lost();
  if (unreachable_) return Progress::kNone;
  shared_ = true;
  Status status = work_in_shared_memory(call_, buffers_, rank_, ranks_, fabric);
  if (!status.ok()) fail(std::move(status));
  return Progress::kStep;
}

// A rank whose memory is out of reach has died or given up; who waits for it learns which.
Exchange::Progress Exchange::work_ordinary(Running& lane, Fabric& fabric) {
  if (unreachable_) return Progress::kNone;
  copied_ = true;
  OrdinaryMemory memory(call_, buffers_, rank_, ranks_, fabric, lane.channel, preface_.sequence);
  std::uint32_t peer = 0;
  Status status = memory.take(lane.lane.step(), peer);
  if (status.ok()) return Progress::kStep;
  if (status.code() != Code::kPeerLost) fail(std::move(status));
  unreachable_ = peer;
  return Progress::kNone;
}

Exchange::Progress Exchange::begin_send(Running& lane, Fabric& fabric) {
  const LaneStep& step = lane.lane.step();
  if (step.block.count == 0) return begin_empty_send(lane, fabric);
  const std::size_t size = bytes_of(step);
  bytes_sent_ += size;
  ++messages_sent_;
  const Link to{step.peer, static_cast<std::uint16_t>(lane.channel + step.channel)};
  if (call_.phantom) return begin_phantom_send(lane, to, size, fabric);
  const std::byte* data = buffers_.address(step.from, step.block);
  if (!lane.outgoing.empty()) {
    Outgoing& last = lane.outgoing.back();
    if (last.to == to && last.data + last.size == data) {
      last.size += size;
      return Progress::kStep;
    }
  }
  const bool prefaced = !(lane.peers[step.peer] & Running::kGreeted);
  lane.peers[step.peer] |= Running::kGreeted;
  if (call_.sent) return Progress::kStep;
  const bool alone = lane.outgoing.empty();
  lane.outgoing.push_back({to, prefaced, data, size, 0});
  if (alone) flush(lane, fabric);
  return Progress::kStep;
}

// Whether a peer that has nothing for the other says so, since the other may expect something.
bool Exchange::greets_for_nothing() const { return !call_.phantom && asked_ == Operation::kAllToAll; }

Exchange::Progress Exchange::begin_empty_send(Running& lane, Fabric& fabric) {
  const LaneStep& step = lane.lane.step();
  if (!greets_for_nothing() || (lane.peers[step.peer] & Running::kGreeted)) return Progress::kStep;
  lane.peers[step.peer] |= Running::kGreeted;
  const bool alone = lane.outgoing.empty();
  const Link to{step.peer, static_cast<std::uint16_t>(lane.channel + step.channel)};
  lane.outgoing.push_back({to, true, nullptr, 0, 0});
  if (alone) flush(lane, fabric);
  return Progress::kStep;
}

Exchange::Progress Exchange::take_nothing(Running& lane, Fabric& fabric) {
  if (!greets_for_nothing() || greeted_by(lane, fabric, lane.lane.step().peer)) return Progress::kStep;
  return Progress::kNone;
}

Exchange::Progress Exchange::begin_phantom_send(Running& lane, Link to, std::size_t size, Fabric& fabric) {
  const auto last = std::find_if(lane.outgoing.rbegin(), lane.outgoing.rend(),
                                 [to](const Outgoing& out) { return out.to == to; });
  const bool waits = last != lane.outgoing.rend();
  if (waits && last->size == size) {
    ++last->more;
    return Progress::kStep;
  }
  const Piece piece{nullptr, size};
  const std::size_t sent = waits ? 0 : fabric.write(to, {&piece, 1});
  if (sent < size) lane.outgoing.push_back({to, false, nullptr, size, sent});
  return Progress::kStep;
}

// Whether any byte went out.
bool Exchange::flush(Running& lane, Fabric& fabric) {
  bool moved = false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < lane.outgoing.size(); ++i) {
    Outgoing& out = lane.outgoing[i];
    const auto same_link = [&out](const Outgoing& other) { return other.to == out.to; };
    const auto first = lane.outgoing.begin(), last = first + static_cast<std::ptrdiff_t>(kept);
    const std::size_t total = out.size + (out.prefaced ? sizeof preface_ : 0);
    bool open = std::none_of(first, last, same_link);
    while (open) {
      Piece pieces[2];
      std::size_t used = 0, skip = out.sent;
      Preface preface;
      if (out.prefaced && skip < sizeof preface) {
        preface = preface_to(out.to.peer);
        const auto* bytes = static_cast<const std::byte*>(static_cast<const void*>(&preface));
        pieces[used++] = {bytes + skip, sizeof preface - skip};
        skip = 0;
      } else if (out.prefaced) {
        skip -= sizeof preface_;
      }
      if (out.size > 0) pieces[used++] = {out.data ? out.data + skip : nullptr, out.size - skip};
      const std::size_t sent = fabric.write(out.to, {pieces, used});
      out.sent += sent;
      moved = moved || sent > 0;
      open = out.sent == total && out.more > 0;
      if (!open) break;
      --out.more;
      out.sent = 0;
    }
    if (out.sent < total) lane.outgoing[kept++] = out;
  }
  lane.outgoing.resize(kept);
  return moved;
}

// Whether [begin, begin + size) must not be written yet.
bool Exchange::still_sending(Running& lane, const std::byte* begin, std::size_t size, Fabric& fabric) {
  const auto overlaps = [=](const Outgoing& out) {
    const std::size_t preface = out.prefaced ? sizeof(Preface) : 0;
    const std::size_t sent = out.sent > preface ? out.sent - preface : 0;
    return out.data + sent < begin + size && begin < out.data + out.size;
  };
  if (lane.outgoing.empty()) return false;
  if (std::none_of(lane.outgoing.begin(), lane.outgoing.end(), overlaps)) return false;
  flush(lane, fabric);
  return std::any_of(lane.outgoing.begin(), lane.outgoing.end(), overlaps);
}

// Whether all `size` bytes of something small have come; it may take several calls.
bool Exchange::read_split(Running& lane, Fabric& fabric, std::uint32_t peer, void* into, std::size_t size) {
  auto* bytes = static_cast<std::byte*>(into);
  while (lane.split_bytes < size) {
    const std::size_t got =
        fabric.read({peer, lane.channel}, bytes + lane.split_bytes, size - lane.split_bytes);
    if (got == 0) return false;
    lane.split_bytes += got;
  }
  lane.split_bytes = 0;
  return true;
}

// What this rank says to a peer. Of an all-to-all each has a part of its own.
Preface Exchange::preface_to(std::uint32_t peer) const {
  Preface preface = preface_;
  if (asked_ == Operation::kAllToAll) preface.count = part_size(call_.parts, call_.count, ranks_, peer);
  return preface;
}

Preface Exchange::preface_from(std::uint32_t peer) const {
  Preface preface = preface_;
  if (asked_ == Operation::kAllToAll) preface.count = part_size(call_.parts_out, call_.count, ranks_, peer);
  return preface;
}

// Whether the step may go on: the peer's preface has come and is the same as ours.
bool Exchange::greeted_by(Running& lane, Fabric& fabric, std::uint32_t peer) {
  if (lane.peers[peer] & Running::kKnown) return true;
  if (!read_split(lane, fabric, peer, &lane.theirs, sizeof lane.theirs)) return false;
  lane.peers[peer] |= Running::kKnown;
  Status same = check_prefaces({rank_, preface_from(peer)}, {peer, lane.theirs});
  if (same.ok()) return true;
  contradiction_ = {peer, lane.theirs};
  fail(std::move(same));
  return false;
}

Exchange::Progress Exchange::take_receive(Running& lane, Fabric& fabric) {
  const LaneStep& step = lane.lane.step();
  const std::size_t size = bytes_of(step);
  if (size == 0) return take_nothing(lane, fabric);
  std::byte* into = nullptr;
  if (!call_.phantom) {
    if (!greeted_by(lane, fabric, step.peer)) return Progress::kNone;
    into = buffers_.address(step.to, step.block) + lane.step_bytes;
    if (still_sending(lane, into, size - lane.step_bytes, fabric)) return Progress::kNone;
  }
  const std::size_t got = fabric.read({step.peer, lane.channel}, into, size - lane.step_bytes);
  lane.step_bytes += got;
  if (lane.step_bytes == size) return Progress::kStep;
  return got > 0 ? Progress::kPart : Progress::kNone;
}

Exchange::Progress Exchange::take_reduce(Running& lane, Fabric& fabric) {
  const LaneStep& step = lane.lane.step();
  const std::size_t size = bytes_of(step);
  if (size == 0) return take_nothing(lane, fabric);
  if (call_.phantom) {
    const std::size_t before = lane.step_bytes;
    const Progress progress = take_receive(lane, fabric);
    if (lane.step_bytes > before) fabric.added(lane.step_bytes - before);
    return progress;
  }
  if (!greeted_by(lane, fabric, step.peer)) return Progress::kNone;
  const std::size_t element = call_.arithmetic.element_bytes, at = lane.step_bytes;
  std::byte* to = buffers_.address(step.to, step.block) + at;
  if (still_sending(lane, to, size - at, fabric)) return Progress::kNone;
  const std::byte* from = buffers_.address(step.from, step.block) + at;
  const Link link{step.peer, lane.channel};
  const std::size_t want = std::min(size - at, std::max(kReduceBytes / element * element, element));
  const Piece shown = lane.split_bytes > 0 ? Piece{} : fabric.peek(link, want);
  const std::size_t ready = shown.size / element;
  if (ready > 0) {
    apply(step, to, from, shown.data, ready);
    fabric.consume(link, ready * element);
  } else {
    lane.split.resize(element);
    if (!read_split(lane, fabric, step.peer, lane.split.data(), element)) return Progress::kNone;
    apply(step, to, from, lane.split.data(), 1);
  }
  const std::size_t added = std::max<std::size_t>(ready, 1) * element;
  fabric.added(added);
  lane.step_bytes += added;
  return lane.step_bytes == size ? Progress::kStep : Progress::kPart;
}

void Exchange::apply(const LaneStep& step, std::byte* to, const std::byte* from, const std::byte* theirs,
                     std::size_t count) const {
  if (step.peer_first && call_.arithmetic.is_ordered()) std::swap(from, theirs);
  call_.arithmetic.apply(to, from, theirs, count);
}

Exchange::Progress Exchange::take_copy(Running& lane, Fabric& fabric) {
  const LaneStep& step = lane.lane.step();
  if (call_.phantom || step.block.count == 0) return Progress::kStep;
  std::byte* to = buffers_.address(step.to, {step.to_begin, step.block.count});
  const std::byte* from = buffers_.address(step.from, step.block);
  if (to == from) return Progress::kStep;
  if (still_sending(lane, to, bytes_of(step), fabric)) return Progress::kNone;
  std::memcpy(to, from, bytes_of(step));
  return Progress::kStep;
}

// The first lane that is not through; null where none waits.
const Exchange::Running* Exchange::waiting() const {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(),
                                  [](const Running& lane) { return !lane.over || !lane.outgoing.empty(); });
  return found == lanes_.end() ? nullptr : &*found;
}

std::uint32_t Exchange::waits_for() const {
  const Running* const lane = waiting();
  if (!lane) return 0;
  if (unreachable_) return *unreachable_;
  const bool sends = lane->over || lane->lane.step().kind == LaneStep::Kind::kSend;
  return sends && !lane->outgoing.empty() ? lane->outgoing.front().to.peer : lane->lane.step().peer;
}

std::string Exchange::waits_in() const {
  const Running* const lane = waiting();
  if (!lane) return {};
  const std::string rank = " rank " + std::to_string(waits_for());
  std::string text =
      "lane " + std::to_string(lane - lanes_.data()) + " step " + std::to_string(lane->steps) + ": ";
  if (unreachable_) return text + "read the memory of" + rank;
  if (lane->over || lane->lane.step().kind == LaneStep::Kind::kSend) return text + "send to" + rank;
  const Block block = lane->lane.step().block;
  return text + "receive " + std::to_string(block.count) + " elements at " + std::to_string(block.begin) +
         " from" + rank;
}

bool Exchange::heard() const {
  return std::any_of(lanes_.begin(), lanes_.end(), [](const Running& lane) {
    return std::any_of(lane.peers.begin(), lane.peers.end(),
                       [](std::uint8_t said) { return (said & Running::kKnown) != 0; });
  });
}

std::string Exchange::name() const { return describe(preface_, plan_.route); }

}  // namespace thalweg
