// clang-format off
// Grammar, all integers little-endian; array as in state_codec.h, mark as in staleness/marks.h:
//   state   := range:u16 keys:array rows:array shards:u32 mark* reached* applied:step open rounds replies
//   reached := low:step reach:step ended:u8
//   open    := count:u32 (step count:u32 (shard:u32 payload)*)*
//   rounds  := version:u32 pushes:u32 epoch:u32 shards:u32 (version:u32 asked:u8)*
//   replies := count:u32 (shard:u32 step payload)*
//   payload := keys:array values:array
//   step    := epoch:u32 index:u32
// clang-format on
#include "server/range_state.h"

#include <algorithm>

#include "base/limits.h"
#include "server/shown_rows.h"
#include "server/state_codec.h"
#include "table/validate.h"

namespace thalweg {
namespace {

void put_open_steps(Writer& out, const std::map<Step, StepParts>& steps) {
  out.put(static_cast<std::uint32_t>(steps.size()));
  for (const auto& [step, shards] : steps) {
    put_step(out, step);
    std::uint32_t count = 0;
    for (const auto& parts : shards) count += static_cast<std::uint32_t>(parts.size());
    out.put(count);
    for (std::uint32_t s = 0; s < shards.size(); ++s) {
      for (const StepPart& part : shards[s]) put_payload(out.put(s), part.payload);
    }
  }
}

void put_rounds(Writer& out, const RangeState& state) {
  out.put(state.round.version).put(state.round.pushes).put(state.round.epoch);
  out.put(static_cast<std::uint32_t>(state.read.size()));
  for (const VersionRead& read : state.read) out.put(read.version).put(static_cast<std::uint8_t>(read.asked));
}

// Reads what was written of one range of a table.
class StateReader {
 public:
  StateReader(const Bytes& bytes, const TableSpec& spec, std::uint32_t shards)
      : in_(bytes), spec_(spec), shards_(shards) {}

  std::optional<RangeState> read() {
    RangeState state;
    state.range = RangeId{in_.get<std::uint16_t>()};
    if (state.range.value >= spec_.ranges) in_.fail();
    alone_ = only(state.range);
    state.keys = get_array<std::uint64_t>(in_);
    state.rows = get_array<float>(in_);
    if (in_.get<std::uint32_t>() != shards_) in_.fail();
    for (std::uint32_t s = 0; s < shards_ && in_.ok(); ++s) state.marks.push_back(Mark::decode(in_));
    for (std::uint32_t s = 0; s < shards_ && in_.ok(); ++s) state.reached.push_back(reached());
    state.applied = get_step(in_);
    open_steps(state.open_steps);
    rounds(state);
    replies(state.replies);
    if (!in_.done()) return {};
    return state;
  }

 private:
  Reached reached() {
    Reached marks;
    marks.low = get_step(in_);
    marks.reach = get_step(in_);
    const auto ended = in_.get<std::uint8_t>();
    if (ended > 1) in_.fail();
    marks.ended = ended != 0;
    return marks;
  }

  void open_steps(std::map<Step, StepParts>& steps) {
    constexpr std::size_t kStepBytesMin = 12, kPartBytesMin = 12;
    for (auto left = in_.get_count(limits::kStepWindow * 2, kStepBytesMin); left > 0 && in_.ok(); --left) {
      const Step step = get_step(in_);
      if (!steps.empty() && step <= steps.rbegin()->first) in_.fail();
      StepParts& parts = steps[step];
      parts.resize(shards_);
      std::uint32_t last = 0;
      for (auto parts_left = in_.get_count(shards_, kPartBytesMin); parts_left > 0 && in_.ok();
           --parts_left) {
        const auto shard = in_.get<std::uint32_t>();
        Payload payload = get_payload(in_);
        if (shard < last || shard >= shards_ || !is_contribution(payload)) return in_.fail();
        parts[last = shard].push_back({alone_, std::move(payload)});
      }
    }
  }

  void rounds(RangeState& state) {
    constexpr std::size_t kReadBytes = 5;
    state.round.version = in_.get<std::uint32_t>();
    state.round.pushes = in_.get<std::uint32_t>();
    state.round.epoch = in_.get<std::uint32_t>();
    state.read.resize(in_.get_count(shards_, kReadBytes));
    if (!state.read.empty() && state.read.size() != shards_) in_.fail();
    for (VersionRead& read : state.read) {
      read.version = in_.get<std::uint32_t>();
      const auto asked = in_.get<std::uint8_t>();
      if (asked > 1) in_.fail();
      read.asked = asked != 0;
    }
  }

  void replies(std::vector<Replies>& replies) {
    constexpr std::size_t kReplyBytesMin = 20;
    replies.resize(shards_);
    std::pair<std::uint32_t, Step> last;
    for (auto left = in_.get_count(~0u, kReplyBytesMin); left > 0 && in_.ok(); --left) {
      const auto shard = in_.get<std::uint32_t>();
      const Step step = get_step(in_);
      Payload payload = get_payload(in_);
      if (std::pair(shard, step) < last || shard >= shards_ || !is_shown(spec_, payload, alone_))
        return in_.fail();
      last = {shard, step};
      replies[shard][step].push_back({alone_, std::move(payload), false});
    }
  }

  bool is_contribution(const Payload& payload) const {
    const Contribution part = contribution_of(payload);
    return !payload.empty() && check_contribution(spec_, alone_, part, alone_).ok();
  }

  Reader in_;
  const TableSpec& spec_;
  std::uint32_t shards_;
  RangeSpan alone_;
};

}  // namespace

Bytes encode(const RangeState& state) {
  Writer out;
  out.put(state.range.value);
  put_array<std::uint64_t>(out, state.keys);
  put_array<float>(out, state.rows);
  out.put(static_cast<std::uint32_t>(state.marks.size()));
  for (const Mark& mark : state.marks) mark.encode(out);
  for (const Reached& reached : state.reached) {
    put_step(out, reached.low);
    put_step(out, reached.reach);
    out.put(static_cast<std::uint8_t>(reached.ended));
  }
  put_step(out, state.applied);
  put_open_steps(out, state.open_steps);
  put_rounds(out, state);
  std::uint32_t count = 0;
  for (const Replies& of_shard : state.replies) {
    for (const auto& [step, replies] : of_shard) count += static_cast<std::uint32_t>(replies.size());
  }
  out.put(count);
  for (std::uint32_t s = 0; s < state.replies.size(); ++s) {
    for (const auto& [step, replies] : state.replies[s]) {
      for (const Reply& reply : replies) {
        put_step(out.put(s), step);
        put_payload(out, reply.payload);
      }
    }
  }
  return out.take();
}

std::optional<RangeState> decode_range_state(const Bytes& bytes, const TableSpec& spec,
                                             std::uint32_t shards) {
  return StateReader(bytes, spec, shards).read();
}

std::optional<RangeState> decode_begin(const Bytes& bytes, const TableSpec& spec, std::uint32_t shards) {
  auto state = decode_range_state(bytes, spec, shards);
  const auto none = [](const Replies& replies) { return replies.empty(); };
  if (!state || !state->keys.empty() || !state->rows.empty() || !std::ranges::all_of(state->replies, none))
    return {};
  return state;
}

}  // namespace thalweg
