#include "sim/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "base/payload.h"

namespace thalweg::sim {
namespace {

constexpr std::uint64_t kThroughBytesEvery = 64;

bool same_bytes(const Bytes& a, const Bytes& b) {
  return a.size() == b.size() && std::equal(a.span().begin(), a.span().end(), b.span().begin());
}

std::uint64_t bytes_of(const Frame& frame) { return kHeaderBytes + frame.first.size() + frame.second.size(); }

}  // namespace

Network::Network(const Plan& plan, Findings& findings)
    : plan_(plan),
      findings_(findings),
      random_(Random(plan.seed).split(1)),
      damage_random_(Random(plan.seed).split(7)) {}

Fate Network::send(Instant now, Link link, Frame&& frame, bool must_arrive, std::vector<Arrival>& out) {
  ++counts_.sent;
  if (frame.head.op == Op::kPush && frame.head.block > 0) ++counts_.combined;
  if (must_arrive || healed_) {
    out.push_back({plan_.latency, std::move(frame), {}});
    return Fate::kSent;
  }
  const FrameFaults& faults = plan_.frame_faults;
  if (state(link).blocks > 0) {
    ++counts_.cut_off;
    return Fate::kCutOff;
  }
  if (happens(faults.split) && frame.head.op == Op::kPush && frame.head.ranges.size() > 1) {
    ++counts_.split;
    out.push_back({latency(now, link), part_of(frame), {}});
  }
  const bool twice = happens(faults.repeat);
  if (twice) {
    ++counts_.repeated;
    out.push_back({latency(now, link), frame, {}});
  }
  if (happens(faults.drop)) {
    ++counts_.dropped;
    return Fate::kDropped;
  }
  if (happens(faults.flip)) {
    ++counts_.flipped;
    out.push_back({plan_.latency + scaled(plan_.jitter, damage_random_.unit()), {}, damage(frame)});
    return Fate::kFlipped;
  }
  const Duration after = latency(now, link) + passage(now, link, frame);
  out.push_back(
      {after, counts_.sent % kThroughBytesEvery == 0 ? through_bytes(frame) : std::move(frame), {}});
  return Fate::kSent;
}

Duration Network::latency(Instant now, Link link) {
  Duration latency = plan_.latency;
  if (plan_.jitter.count() > 0)
    latency +=
        Duration{static_cast<std::int64_t>(random_.unit() * static_cast<double>(plan_.jitter.count()))};
  if (happens(plan_.frame_faults.delay)) {
    ++counts_.delayed;
    latency += Duration{static_cast<std::int64_t>(random_.unit() *
                                                  static_cast<double>(plan_.frame_faults.delay_max.count()))};
  }
  const Instant free = state(link).clogged_until;
  return free > now ? latency + (free - now) : latency;
}

// How long a frame takes through its sender's port and its receiver's, each of which passes one at a time.
Duration Network::passage(Instant now, Link link, const Frame& frame) {
  const std::size_t bytes = bytes_of(frame);
  counts_.bytes += bytes;
  if (plan_.bytes_per_second <= 0) return {};
  const Duration takes = scaled(std::chrono::seconds(1), static_cast<double>(bytes) / plan_.bytes_per_second);
  Port &sender = ports_[link.from], &receiver = ports_[link.to];
  const Instant begin = std::max(now, sender.sent);
  sender.sent = begin + takes;
  receiver.received = std::max(begin, receiver.received) + takes;
  return receiver.received - now;
}

std::uint64_t Network::count(const Frame& frame) {
  ++counts_.sent;
  counts_.bytes += bytes_of(frame);
  return bytes_of(frame);
}

// One bit as a rule, at times more of them, near each other or not.
std::vector<std::byte> Network::damage(const Frame& frame) {
  std::vector<std::byte> bytes = encode_frame(frame);
  const std::uint64_t bits = bytes.size() * 8, first = random_.below(bits);
  std::set<std::uint64_t> flips = {first};
  const std::uint64_t more = damage_random_.chance(0.3) ? damage_random_.below(15) + 1 : 0;
  const std::uint64_t within = damage_random_.chance(0.5) ? std::min<std::uint64_t>(64, bits) : bits;
  for (std::uint64_t i = 0; i < more; ++i) flips.insert((first + damage_random_.below(within)) % bits);
  for (const std::uint64_t bit : flips) bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  return bytes;
}

std::optional<Frame> Network::read_damaged(const std::vector<std::byte>& bytes) {
  ++counts_.refused;
  auto frame = decode_frame(bytes);
  if (frame) {
    findings_.add(Checker::kDamage, fmt::format("{}: {} bytes, some bits flipped, and nobody noticed",
                                                describe(frame->head), bytes.size()));
    return std::move(frame).value();
  }
  if (frame.status().code() != Code::kRefused) {
    findings_.add(Checker::kDamage, fmt::format("a damaged frame is answered with {}: {}",
                                                code_name(frame.status().code()), frame.status().message()));
  }
  return std::nullopt;
}

void Network::close(Instant now, Link link) {
  ++counts_.closed;
  ++connections_.at(std::min(link.from, link.to), std::max(link.from, link.to));
  const Instant again = now + scaled(limits::kReconnectFirst, 0.5 + damage_random_.unit());
  for (const Link way : {link, Link{link.to, link.from}})
    broken(way).clogged_until = std::max(broken(way).clogged_until, again);
}

Frame Network::through_bytes(const Frame& frame) {
  auto back = decode_frame(encode_frame(frame));
  if (!back) {
    findings_.add(Checker::kDamage, fmt::format("{}: {}", describe(frame.head), back.status().message()));
    return frame;
  }
  if (describe(back->head) != describe(frame.head) || !same_bytes(back->first, frame.first) ||
      !same_bytes(back->second, frame.second)) {
    findings_.add(Checker::kDamage,
                  fmt::format("{}: reads back otherwise than it was written", describe(frame.head)));
  }
  return std::move(back).value();
}

Frame Network::part_of(const Frame& push) {
  Frame part = push;
  part.head.request = kNoRequest;
  RangeSpan& ranges = part.head.ranges;
  const auto middle =
      static_cast<std::uint16_t>(ranges.begin + 1 + random_.below(std::uint64_t{ranges.size()} - 1));
  const bool front = random_.chance(0.5);
  (front ? ranges.end : ranges.begin) = middle;
  Payload payload = cut(plan_.tables[push.head.table.value], {push.first, push.second}, ranges);
  part.first = std::move(payload.keys);
  part.second = std::move(payload.values);
  return part;
}

}  // namespace thalweg::sim
