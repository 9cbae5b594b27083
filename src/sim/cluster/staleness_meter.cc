#include "sim/cluster/staleness_meter.h"

#include <algorithm>

namespace thalweg::sim {

void StalenessMeter::on_answer(NodeId server, const Frame* asked, const Frame& sent) {
  const FrameHeader& head = sent.head;
  if (head.code != Code::kOk) return;
  if (head.op == Op::kPullReply) {
    Part& part = parts_[{server, head.table}];
    Reader& reader = part.readers[head.shard];
    reader.read_at[head.step] = part.updates;
    if (head.version > 0) part.at_version.try_emplace(head.version, part.updates);
  }
  if (head.op == Op::kPushReply && asked != nullptr && asked->head.op == Op::kPush)
    on_push(parts_[{server, asked->head.table}], *asked);
}

// How many updates that had seen which a push was computed on.
std::optional<std::uint64_t> StalenessMeter::read_by(const Part& part, const Reader& reader,
                                                     const FrameHeader& push) {
  const auto by_version = part.at_version.find(push.version);
  if (by_version != part.at_version.end()) return by_version->second;
  const auto by_step = reader.read_at.find(push.step);
  return by_step == reader.read_at.end() ? std::nullopt : std::optional(by_step->second);
}

void StalenessMeter::on_push(Part& part, const Frame& push) {
  if (push.second.size() == 0) return;  // Its shards had nothing for this server.
  std::uint64_t fresh = 0;
  for (std::uint32_t i = 0; i < push.head.shard_count(); ++i) {
    Reader& reader = part.readers[ShardId{push.head.shard.value + i}];
    if (push.head.step < reader.pushed) continue;  // It came again.
    reader.pushed = {push.head.step.epoch, push.head.step.index + 1};
    if (const auto read = read_by(part, reader, push.head)) {
      const std::uint64_t staleness = part.updates - *read;
      if (histogram_.size() <= staleness) histogram_.resize(staleness + 1);
      ++histogram_[staleness];
    }
    reader.read_at.erase(reader.read_at.begin(), reader.read_at.upper_bound(push.head.step));
    ++fresh;
  }
  part.updates += fresh;
}

}  // namespace thalweg::sim
