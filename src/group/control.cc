#include "group/control.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg {
namespace {

// What a rank said this long ago still holds.
constexpr Duration kFresh = 5 * Control::kTellEvery;

}  // namespace

Control::Control(std::uint32_t rank, std::uint32_t ranks, Duration patience)
    : rank_(rank), patience_(patience), blame_(rank, ranks, patience) {}

void Control::tell(Instant now, std::uint32_t waits_for, std::string doing) {
  told_ = {Doing::Kind::kWaiting, waits_for, std::move(doing)};
  told_at_ = now;
}

void Control::accuse(Instant now, std::uint32_t waits_for, std::string doing) {
  tell(now, waits_for, std::move(doing));
  accusing_ = true;
  blame_.accuse(now, told_);
}

void Control::explain_loss(Instant now, std::uint32_t peer, Status why) {
  losses_.push_back({peer, std::move(why), now + patience_});
  on_time(now);
}

void Control::on_message(Instant now, std::uint32_t from, std::span<const std::byte> message,
                         const Activity& activity) {
  blame_.on_message(now, from, message, doing(now, activity));
}

void Control::on_time(Instant now) {
  blame_.on_time(now);
  for (Loss& loss : losses_) {
    if (verdict()) break;
    if (now >= loss.due || blame_.has_left(loss.peer)) blame_.give_up({loss.peer, std::move(loss.why)});
  }
  if (verdict()) losses_.clear();
}

Instant Control::next_deadline() const {
  Instant next = blame_.next_deadline();
  for (const Loss& loss : losses_) next = std::min(next, loss.due);
  return next;
}

bool Control::is_gone(std::uint32_t peer) const {
  return peer != rank_ && (blame_.has_left(peer) || blame_.is_lost(peer));
}

Doing Control::doing(Instant now, const Activity& activity) const {
  const std::uint64_t number = activity.entered + activity.passed;
  if (accusing_ && !verdict()) return told_;
  if (activity.entered <= activity.left) {
    std::string text = fmt::format("it has been in {} operations", number);
    if (!told_.text.empty()) text += ", the last that took long being " + told_.text;
    return {Doing::Kind::kOutside, 0, std::move(text)};
  }
  if (activity.told && now - told_at_ < kFresh) return told_;
  return {Doing::Kind::kWorking, 0, fmt::format("it works in the operation that is its number {}", number)};
}

}  // namespace thalweg
