#include "client/collective/group_turn.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg {
namespace {

using Wish = RankProgress::Wish;

template <class Numbers>  // Step or BarrierId.
std::uint64_t pack(Numbers numbers) {
  return (std::uint64_t{numbers.epoch} << 32) | numbers.index;
}
template <class Numbers>
Numbers unpack(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
}

std::string describe(const RankProgress& rank) {
  const std::string at = rank.step == kEndOfWork
                             ? "after its work"
                             : fmt::format("in step {}.{}", rank.step.epoch, rank.step.index);
  switch (rank.wish) {
    case Wish::kSee:
      return at + " waits for earlier steps";
    case Wish::kAdvance:
      return at + " advances";
    case Wish::kBarrier:
      return fmt::format("{} is at barrier {}.{}", at, rank.barrier.epoch, rank.barrier.index);
    case Wish::kFailed:
      break;
  }
  return at + " has failed";
}

// Whether every rank that still works has come to one barrier, and no other rank waits at a different one.
bool at_one_barrier(std::span<const RankProgress> progress) {
  const RankProgress* first = nullptr;
  for (const RankProgress& rank : progress) {
    if (rank.wish != Wish::kBarrier) {
      if (rank.step != kEndOfWork) return false;
      continue;
    }
    if (first && first->barrier != rank.barrier) return false;
    first = &rank;
  }
  return first != nullptr;
}

Status deadlock(std::span<const RankProgress> progress) {
  constexpr std::size_t kShown = 8;
  std::string text = "the ranks wait for each other";
  for (std::size_t r = 0; r < std::min(progress.size(), kShown); ++r) {
    text += fmt::format("{} rank {} {}", r == 0 ? ":" : ",", r, describe(progress[r]));
  }
  if (progress.size() > kShown) text += fmt::format(" and {} others", progress.size() - kShown);
  return {Code::kUsage, text};
}

}  // namespace

void RankProgress::write(std::uint64_t* words) const {
  words[0] = static_cast<std::uint64_t>(wish);
  words[1] = pack(step);
  words[2] = pack(barrier);
}

RankProgress RankProgress::read(const std::uint64_t* words) {
  return {static_cast<Wish>(words[0]), unpack<Step>(words[1]), unpack<BarrierId>(words[2])};
}

GroupTurn decide_turn(std::span<const RankProgress> progress, std::uint32_t me) {
  GroupTurn turn;
  turn.lowest = kEndOfWork;
  for (std::size_t r = 0; r < progress.size(); ++r) {
    if (progress[r].wish == Wish::kFailed) {
      turn.status = {Code::kAborted, fmt::format("rank {} has failed", r)};
      return turn;
    }
    turn.lowest = std::min(turn.lowest, progress[r].step);
  }
  const auto advances = [](const RankProgress& rank) { return rank.wish == Wish::kAdvance; };
  const auto is_lowest = [&turn](const RankProgress& rank) { return rank.step == turn.lowest; };
  turn.applies = std::all_of(progress.begin(), progress.end(),
                             [&](const RankProgress& rank) { return !is_lowest(rank) || advances(rank); });
  turn.lowest_after = kEndOfWork;
  for (const RankProgress& rank : progress) {
    turn.lowest_after =
        std::min(turn.lowest_after, turn.applies && is_lowest(rank) ? rank.step.next() : rank.step);
  }
  const bool barrier = at_one_barrier(progress);
  const auto fulfilled = [&](const RankProgress& rank) {
    switch (rank.wish) {
      case Wish::kSee:
        return turn.lowest >= rank.step;
      case Wish::kAdvance:
        return turn.applies && is_lowest(rank);
      case Wish::kBarrier:
        return barrier;
      case Wish::kFailed:
        break;
    }
    return false;
  };
  if (!turn.applies && std::none_of(progress.begin(), progress.end(), fulfilled))
    turn.status = deadlock(progress);
  turn.done = fulfilled(progress[me]);
  return turn;
}

}  // namespace thalweg
