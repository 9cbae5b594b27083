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
  }
  if (head.op == Op::kPushReply && asked != nullptr && asked->head.op == Op::kPush)
    on_push(parts_[{server, asked->head.table}], *asked);
}

void StalenessMeter::on_push(Part& part, const Frame& push) {
  if (push.second.size() == 0) return;  // Its shards had nothing for this server.
  std::uint64_t fresh = 0;
  for (std::uint32_t i = 0; i < push.head.shard_count(); ++i) {
    Reader& reader = part.readers[ShardId{push.head.shard.value + i}];
    if (push.head.step < reader.pushed) continue;  // It came again.
    reader.pushed = {push.head.step.epoch, push.head.step.index + 1};
    if (const auto read = reader.read_at.find(push.head.step); read != reader.read_at.end()) {
      const std::uint64_t staleness = part.updates - read->second;
      if (histogram_.size() <= staleness) histogram_.resize(staleness + 1);
      ++histogram_[staleness];
    }
    reader.read_at.erase(reader.read_at.begin(), reader.read_at.upper_bound(push.head.step));
    ++fresh;
  }
  part.updates += fresh;
}

}  // namespace thalweg::sim
