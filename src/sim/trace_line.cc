#include "sim/trace_line.h"

#include <fmt/format.h>

#include "wire/messages.h"

namespace thalweg::sim {
namespace {

double seconds(Instant now) { return static_cast<double>(now.ns) * 1e-9; }

std::string step_text(Step step) {
  return step == kEndOfWork ? "the end" : fmt::format("{}.{}", step.epoch, step.index);
}

std::string whose(const FrameHeader& head) {
  return head.shard == kNoShard ? "the observer" : fmt::format("shard {}", head.shard.value);
}

std::string numbered(const FrameHeader& head) {
  const bool barrier = head.op == Op::kBarrier || head.op == Op::kBarrierReply;
  return barrier || head.op == Op::kReport || head.op == Op::kReportReply
             ? fmt::format("{} {} of {}", op_name(head.op), step_text(head.step), whose(head))
             : fmt::format("{} of {}", op_name(head.op), whose(head));
}

std::string join_text(const Frame& frame) {
  const auto join = wire::decode_join(frame.first);
  if (!join) return "join";
  return fmt::format("join as {}", join->observer                ? "observer"
                                   : join->role == Role::kServer ? "server"
                                                                 : "worker");
}

std::string map_text(const Frame& frame) {
  const auto map = wire::decode_map(frame.first);
  if (!map) return "map";
  std::string out = fmt::format("map {}{}:", map->epoch, map->closing ? ", closing" : "");
  for (std::size_t s = 0; s < map->shards.size(); ++s)
    out += fmt::format(" {}@worker-{}/{}", s, map->shards[s].worker, map->shards[s].owner_epoch);
  for (std::size_t t = 0; t < map->placement.size(); ++t) {
    out += fmt::format("; table {}:", t);
    for (const PlacedRun& run : map->placement[t].runs()) {
      out += fmt::format(" [{},{}) at {}", run.ranges.begin, run.ranges.end, fmt::join(run.chain, "-"));
      if (run.joining != 0) out += fmt::format(" joining by {}", run.joining);
    }
  }
  return out;
}

std::string waiting_text(const Frame& frame) {
  const auto waiting = wire::decode_waiting(frame.first);
  if (!waiting) return "waiting";
  std::string out = fmt::format("waiting of {}, {}, missing:", whose(frame.head), step_text(frame.head.step));
  for (const ShardId shard : waiting->missing) out += fmt::format(" {}", shard.value);
  return out;
}

std::string marks_text(const Frame& frame) {
  const auto marks = wire::decode_marks(frame.first);
  if (!marks) return numbered(frame.head);
  return fmt::format("{}: low {} reach {}", numbered(frame.head), step_text(marks->low),
                     step_text(marks->reach));
}

std::string data_text(const FrameHeader& head) {
  const bool ends = (head.flags & (frame_flags::kEndOfEpoch | frame_flags::kEndOfWork)) != 0;
  const bool pushes = head.op == Op::kPush;
  return fmt::format("{} owner {} map {}{}", describe(head), head.owner_epoch, head.map_epoch,
                     pushes && ends ? " end" : "");
}

std::string content(const Frame& frame) {
  switch (frame.head.op) {
    case Op::kJoin:
      return join_text(frame);
    case Op::kWelcome: {
      const auto welcome = wire::decode_welcome(frame.first);
      return welcome ? "welcome, " + who(welcome->id) : "welcome";
    }
    case Op::kMap:
      return map_text(frame);
    case Op::kWaiting:
      return waiting_text(frame);
    case Op::kMarksReply:
      return marks_text(frame);
    case Op::kHello:
    case Op::kGetMap:
    case Op::kStop:
    case Op::kEnded:
    case Op::kStatus:
    case Op::kStatusReply:
    case Op::kCheckpoint:
    case Op::kCheckpointReply:
    case Op::kJoined:
    case Op::kDrain:
    case Op::kDrainReply:
    case Op::kVersioned:
      return op_name(frame.head.op);
    case Op::kHeartbeat:
      return fmt::format("heartbeat map {}", frame.head.map_epoch);
    case Op::kBarrier:
    case Op::kBarrierReply:
    case Op::kReport:
    case Op::kReportReply:
    case Op::kMarks:
      return numbered(frame.head);
    case Op::kPush:
    case Op::kPushReply:
    case Op::kPull:
    case Op::kPullReply:
    case Op::kScan:
    case Op::kScanReply:
    case Op::kLoad:
    case Op::kLoadReply:
    case Op::kEntry:
    case Op::kEntryReply:
    case Op::kCopy:
      return data_text(frame.head);
  }
  return "?";
}

const char* fate_text(Fate fate) {
  switch (fate) {
    case Fate::kSent:
      return "sent";
    case Fate::kDropped:
      return "dropped";
    case Fate::kFlipped:
      return "damaged";
    case Fate::kCutOff:
      return "cut off";
    case Fate::kNobody:
      return "nobody there";
  }
  return "?";
}

}  // namespace

std::string who(NodeId id) {
  if (id.index >= wire::kFirstTemporary) return fmt::format("newcomer-{}", id.index - wire::kFirstTemporary);
  if (id.role == Role::kWorker && id.index >= wire::kFirstObserver) return "observer";
  return node_name(id);
}

std::string summary(const Frame& frame) {
  std::string out = content(frame);
  if (frame.head.request != 0) out += fmt::format(" #{}", frame.head.request);
  if (frame.head.code != Code::kOk)
    out += fmt::format(" {}: {}", code_name(frame.head.code), frame.first.text());
  return out;
}

std::string arrival_line(Instant now, NodeId from, NodeId to, const Frame& frame) {
  return fmt::format("{:12.6f} {:>11} -> {:<11} {}", seconds(now), who(from), who(to), summary(frame));
}

std::string loss_line(Instant now, NodeId from, NodeId to, const Frame& frame, Fate fate) {
  return fmt::format("{:12.6f} {:>11} -x {:<11} {} ({})", seconds(now), who(from), who(to), summary(frame),
                     fate_text(fate));
}

std::string note_line(Instant now, std::string_view what) {
  return fmt::format("{:12.6f} ** {}", seconds(now), what);
}

}  // namespace thalweg::sim
