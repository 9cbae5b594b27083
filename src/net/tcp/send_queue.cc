#include "net/tcp/send_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace thalweg {
namespace {

constexpr std::array<std::byte, 8> kZeros{};

bool is_answer(Op op) {
  switch (op) {
    case Op::kPushReply:
    case Op::kPullReply:
    case Op::kWaiting:
    case Op::kBarrierReply:
    case Op::kReportReply:
    case Op::kScanReply:
    case Op::kMarksReply:
    case Op::kLoadReply:
    case Op::kEntryReply:
    case Op::kStatusReply:
    case Op::kCheckpointReply:
    case Op::kDrainReply:
    case Op::kMap:
    case Op::kWelcome:
      return true;
    default:
      return false;
  }
}

}  // namespace

void SendQueue::push(Frame frame) {
  const std::size_t bytes = frame.size_bytes();
  THALWEG_CHECK(bytes <= limits::kFrameBytesMax, "a frame above the limit is never built");
  bytes_ += bytes;
  if (is_answer(frame.head.op)) answer_bytes_ += bytes;
  items_.push_back({std::move(frame), bytes});
}

void SendQueue::make(Item& item) {
  item.made = true;
  std::byte* head = item.head.data();
  const auto reference = known_.find(item.frame.first);
  item.names_keys = reference.has_value();
  if (reference) {
    head = std::copy(reference->begin(), reference->end(), head);
    Frame rest = item.frame;
    rest.first = {};
    const auto header = encode_header(rest);
    head = std::copy(header.begin(), header.end(), head);
  } else {
    known_.on_frame(item.frame);
    const auto header = encode_header(item.frame);
    head = std::copy(header.begin(), header.end(), head);
  }
  item.head_bytes = static_cast<std::size_t>(head - item.head.data());
  const std::size_t first = reference ? 0 : Frame::padded(item.frame.first.size());
  item.wire_bytes = item.head_bytes + first + Frame::padded(item.frame.second.size());
}

void SendQueue::restart() {
  offset_ = THALWEG_BUG(kRestFollows) ? offset_ : 0;
  for (Item& item : items_) item.made = false;
  known_.clear();
}

void SendQueue::append(SendQueue& other) {
  THALWEG_CHECK(!other.inside_frame(), "a frame is sent whole on one connection");
  if (THALWEG_BUG(kTailLost) && !other.items_.empty()) other.items_.pop_back();
  for (Item& item : other.items_) {
    item.made = false;
    items_.push_back(std::move(item));
  }
  bytes_ += other.bytes_;
  answer_bytes_ += other.answer_bytes_;
  other.clear();
}

void SendQueue::clear() {
  items_.clear();
  known_.clear();
  offset_ = bytes_ = answer_bytes_ = 0;
}

std::size_t SendQueue::fill(std::span<iovec> parts, std::size_t bytes_max) {
  std::size_t used = 0;
  std::size_t bytes = 0;
  std::size_t skip = offset_;
  const auto add = [&](const std::byte* data, std::size_t size) {
    const std::size_t skipped = std::min(skip, size);
    skip -= skipped;
    if (size == skipped) return;
    bytes += size - skipped;
    parts[used++] = {const_cast<std::byte*>(data) + skipped, size - skipped};
  };
  constexpr std::size_t kPartsOfFrame = 5;
  for (Item& item : items_) {
    if (used + kPartsOfFrame > parts.size() || bytes >= bytes_max) break;
    if (!item.made) make(item);
    add(item.head.data(), item.head_bytes);
    for (const Bytes* segment : {&item.frame.first, &item.frame.second}) {
      if (item.names_keys && segment == &item.frame.first) continue;
      add(segment->span().data(), segment->size());
      add(kZeros.data(), Frame::padded(segment->size()) - segment->size());
    }
  }
  return used;
}

void SendQueue::sent(std::size_t bytes) {
  offset_ += bytes;
  while (!items_.empty() && items_.front().made && offset_ >= items_.front().wire_bytes) {
    const Item& item = items_.front();
    offset_ -= item.wire_bytes;
    bytes_ -= item.bytes;
    if (is_answer(item.frame.head.op)) answer_bytes_ -= item.bytes;
    items_.pop_front();
  }
}

}  // namespace thalweg
