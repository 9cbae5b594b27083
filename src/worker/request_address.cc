// The part of RequestBook that finds out whom to ask, and asks anew where the map has changed that.
#include <algorithm>

#include "worker/request_book.h"

namespace thalweg {

// For requests that concern every server, or every one that owns ranges of a table.
void RequestBook::ask_servers(const std::shared_ptr<Request>& request) {
  for (std::uint32_t s = 0; s < map().servers.size(); ++s) {
    const auto owns = [&](const Placement& placement) { return !placement.owned_by(s).empty(); };
    if (std::ranges::none_of(map().placement, owns)) continue;  // It may be lost.
    Frame frame;
    if (request->kind == RequestKind::kMarks) {
      frame.head.op = Op::kMarks;
      frame.head.owner_epoch = map().shards[request->shard.value].owner_epoch;
    } else {
      const RangeSet owned = map().placement[request->table.value].owned_by(s);
      if (owned.empty()) continue;
      frame.head.op = Op::kScan;
      frame.head.flags = frame_flags::kReadOnly;
      frame.head.table = request->table;
      frame.head.ranges = owned.runs().front();
    }
    send_part(request, s, server_node(s), std::move(frame));
  }
}

std::vector<std::uint32_t> RequestBook::sent_to_servers() const {
  std::vector<std::uint32_t> numbers;
  for (const auto& [number, part] : parts_) {
    if (part.to.role == Role::kServer) numbers.push_back(number);
  }
  return numbers;
}

void RequestBook::address_anew(const std::vector<std::uint32_t>& numbers, bool moved) {
  for (const std::uint32_t number : numbers) {
    const auto found = parts_.find(number);
    if (found == parts_.end()) continue;  // It went with a shard, or with a request that was begun again.
    RequestPart& part = found->second;
    part.fresh = false;
    part.backoff = retry_timer_.first_wait();
    const auto request = part.request;
    if (!moved) {
      transmit(part);
      continue;
    }
    if (request->kind == RequestKind::kMarks || request->kind == RequestKind::kCount) {
      drop_parts(*request);  // Who has answered may own more by now, and who has not may own less.
      request->open = 0;
      request->marks = {};
      request->count = 0;
      ask_servers(request);
      continue;
    }
    const auto owner = owner_of(map(), part.frame.head);
    if (!owner) {
      cut_anew(number);
      continue;
    }
    if (part.to != *owner && request->kind == RequestKind::kScan) {
      request->answers.clear();
      request->keys.clear();
      request->open = 1;
    }
    part.to = *owner;
    transmit(part);
  }
}

// The ranges of a part have come to several servers. The parts that it becomes have numbers of their own, for
// an answer to the whole may be under way.
void RequestBook::cut_anew(std::uint32_t number) {
  const RequestPart part = std::move(parts_.extract(number).mapped());
  const FrameHeader& head = part.frame.head;
  const std::shared_ptr<Request>& request = part.request;
  auto slices = slice(map().tables[head.table.value], map().placement[head.table.value], head.ranges,
                      {part.frame.first, part.frame.second});
  --request->open;
  if (!part.kept) --request->missing_parts;
  if (request->kind == RequestKind::kPull) {
    std::erase_if(slices, [](const Slice& one) { return one.payload.empty(); });
    const std::size_t more = slices.size() - 1;
    for (auto& [other_number, other] : parts_) {
      if (other.request == request && other.position > part.position) other.position += more;
    }
    request->answers.insert(request->answers.begin() + static_cast<std::ptrdiff_t>(part.position) + 1, more,
                            Bytes());
  }
  Frame like;
  like.head = head;
  send_slices(request, part.position, like, std::move(slices));
}

}  // namespace thalweg
