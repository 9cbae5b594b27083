#include "client/group_turn.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg {
namespace {

using Wish = GroupStand::Wish;

std::uint64_t pack(Step step) { return (std::uint64_t{step.epoch} << 32) | step.index; }
Step unpack(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
}

std::string describe(const GroupStand& stand) {
  const std::string at = stand.step == kEndOfWork
                             ? "after its work"
                             : fmt::format("in step {}.{}", stand.step.epoch, stand.step.index);
  switch (stand.wish) {
    case Wish::kSee:
      return at + " waits for earlier steps";
    case Wish::kAdvance:
      return at + " advances";
    case Wish::kBarrier:
      return fmt::format("{} is at barrier {}.{}", at, stand.barrier.epoch, stand.barrier.index);
    case Wish::kFailed:
      break;
  }
  return at + " has failed";
}

// Whether every rank that still works has come to one barrier, and no other rank stands at a different one.
bool at_one_barrier(std::span<const GroupStand> stands) {
  const GroupStand* first = nullptr;
  for (const GroupStand& stand : stands) {
    if (stand.wish != Wish::kBarrier) {
      if (stand.step != kEndOfWork) return false;
      continue;
    }
    if (first && first->barrier != stand.barrier) return false;
    first = &stand;
  }
  return first != nullptr;
}

Status deadlock(std::span<const GroupStand> stands) {
  constexpr std::size_t kShown = 8;
  std::string text = "the ranks wait for each other";
  for (std::size_t r = 0; r < std::min(stands.size(), kShown); ++r) {
    text += fmt::format("{} rank {} {}", r == 0 ? ":" : ",", r, describe(stands[r]));
  }
  if (stands.size() > kShown) text += fmt::format(" and {} others", stands.size() - kShown);
  return {Code::kUsage, text};
}

}  // namespace

void GroupStand::write(std::uint64_t* words) const {
  words[0] = static_cast<std::uint64_t>(wish);
  words[1] = pack(step);
  words[2] = pack(barrier);
}

GroupStand GroupStand::read(const std::uint64_t* words) {
  return {static_cast<Wish>(words[0]), unpack(words[1]), unpack(words[2])};
}

GroupTurn decide_turn(std::span<const GroupStand> stands, std::uint32_t me) {
  GroupTurn turn;
  turn.lowest = kEndOfWork;
  for (std::size_t r = 0; r < stands.size(); ++r) {
    if (stands[r].wish == Wish::kFailed) {
      turn.status = {Code::kAborted, fmt::format("rank {} has failed", r)};
      return turn;
    }
    turn.lowest = std::min(turn.lowest, stands[r].step);
  }
  const auto advances = [](const GroupStand& stand) { return stand.wish == Wish::kAdvance; };
  const auto is_lowest = [&turn](const GroupStand& stand) { return stand.step == turn.lowest; };
  turn.applies = std::all_of(stands.begin(), stands.end(),
                             [&](const GroupStand& stand) { return !is_lowest(stand) || advances(stand); });
  turn.lowest_after = kEndOfWork;
  for (const GroupStand& stand : stands) {
    turn.lowest_after =
        std::min(turn.lowest_after, turn.applies && is_lowest(stand) ? stand.step.next() : stand.step);
  }
  const bool barrier = at_one_barrier(stands);
  const auto fulfilled = [&](const GroupStand& stand) {
    switch (stand.wish) {
      case Wish::kSee:
        return turn.lowest >= stand.step;
      case Wish::kAdvance:
        return turn.applies && is_lowest(stand);
      case Wish::kBarrier:
        return barrier;
      case Wish::kFailed:
        break;
    }
    return false;
  };
  if (!turn.applies && std::none_of(stands.begin(), stands.end(), fulfilled)) turn.status = deadlock(stands);
  turn.done = fulfilled(stands[me]);
  return turn;
}

}  // namespace thalweg
