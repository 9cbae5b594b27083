// Branches of the protocols that only faults lead to. THALWEG_REACHED(name) is nothing in the product; the
// simulator's `sim_coverage` program is built to count them, and says which of them no run came to (as the
// coverage macros of Zhou et al., "FoundationDB", SIGMOD 2021, section 4.2).
#pragma once

#ifdef THALWEG_PLANTED_BUGS
#include <array>
#include <cstddef>
#include <cstdint>

// What is marked, and when it is reached.
#define THALWEG_BRANCHES(BRANCH)                                                                      \
  BRANCH(kPullWaited, "a pull waits at its server")                                                   \
  BRANCH(kRangesAwaited, "a server is asked about ranges that have yet to come to it")                \
  BRANCH(kPushRepeated, "all of a push has come before")                                              \
  BRANCH(kPushHeldUp, "a push comes before its server can take it")                                   \
  BRANCH(kPushLate, "a push comes after its step has closed without it")                              \
  BRANCH(kStepExpired, "a step is closed by the time that it may wait")                               \
  BRANCH(kSumAppliedInPart, "of a combined push some shards' parts have come singly")                 \
  BRANCH(kShownAgain, "a shard's heir is shown the rows that the one before was shown")               \
  BRANCH(kMapOld, "a frame is refused because its sender's map is old")                               \
  BRANCH(kMapOldUnsaid, "a sender whose map is old has been told so by then")                         \
  BRANCH(kMapAwaited, "a frame comes before the map by which it was sent")                            \
  BRANCH(kOwnerFormer, "a frame of a shard's former owner is refused")                                \
  BRANCH(kAnswerAwaitedCopies, "an answer waits until the chain has what it tells")                   \
  BRANCH(kJoinerNotAwaited, "an answer does not wait for a server that has yet to be sent all")       \
  BRANCH(kPushKept, "a worker is to keep what is in no sum yet")                                      \
  BRANCH(kEntryAhead, "an entry comes before one that was sent earlier")                              \
  BRANCH(kEntryRepeated, "an entry comes again")                                                      \
  BRANCH(kEntryRefused, "an entry comes before the map that puts its sender there")                   \
  BRANCH(kEntryOfFormer, "an entry of who has left the chain is not taken")                           \
  BRANCH(kChainMended, "entries that a lost server has not acknowledged go to who comes behind it")   \
  BRANCH(kTakenOver, "a server owns ranges of which it had copies")                                   \
  BRANCH(kJoinGivenUp, "what an attempt to join has brought is forgotten")                            \
  BRANCH(kChangedWhileCopied, "a range changes of whose rows a joiner has some")                      \
  BRANCH(kSumKnown, "a copy is told a sum that it has")                                               \
  BRANCH(kLoadKnown, "a copy is told rows to begin with after pushes")                                \
  BRANCH(kRangesLost, "the last copy of a range is lost, and the job ends")                           \
  BRANCH(kServerLost, "a server is lost, and its ranges go on at others")                             \
  BRANCH(kWorkerLost, "a worker is lost, and its shards go to others")                                \
  BRANCH(kLastWorkerLost, "the last worker is lost, and the job ends")                                \
  BRANCH(kLostBeforeBegin, "a node is lost before the job begins")                                    \
  BRANCH(kSeatTaken, "a server takes the place of one lost before the job begins")                    \
  BRANCH(kReplacedHeard, "who was replaced is heard again, and told so")                              \
  BRANCH(kOwnPauseForgiven, "a scheduler that stood still gives the others its time")                 \
  BRANCH(kDeathTold, "a node's death is told by who started it")                                      \
  BRANCH(kFormerOwnerStale, "a shard's former owner has yet to learn of it")                          \
  BRANCH(kReportRepeated, "a report comes again")                                                     \
  BRANCH(kEndAsked, "barriers open because the job is asked to end")                                  \
  BRANCH(kDrainRefused, "a server may not leave")                                                     \
  BRANCH(kDrainedLeft, "a server leaves once others have its ranges")                                 \
  BRANCH(kDrainedLost, "a server is lost while it is to leave")                                       \
  BRANCH(kDrainedStays, "a server that was to leave is needed after a loss")                          \
  BRANCH(kNewcomerServed, "a server that came late has its part of the ranges")                       \
  BRANCH(kNewcomerLost, "a server that came late is lost before that")                                \
  BRANCH(kSharesGiven, "a worker that came late gets shards of others")                               \
  BRANCH(kSaidLater, "what a scheduler says waits until its state is kept")                           \
  BRANCH(kWriteInDoubt, "a write of a state may have counted or not")                                 \
  BRANCH(kWriteCountedLate, "a write of a state counts after it was given up")                        \
  BRANCH(kLeadLost, "a scheduler learns that another one leads")                                      \
  BRANCH(kLeadRegained, "a scheduler whose lease has ended takes another one")                        \
  BRANCH(kLeadDoubted, "a node looks for another scheduler because the one that answers is in doubt") \
  BRANCH(kOwnWriteGone, "a scheduler finds its state as it was before")                               \
  BRANCH(kStateOlder, "a scheduler hears of more than its state has")                                 \
  BRANCH(kNextUnheard, "a node waits until the next scheduler knows what it was told")                \
  BRANCH(kSentAgain, "a request is sent again")                                                       \
  BRANCH(kRequestTimedOut, "a request gets no answer in its time")                                    \
  BRANCH(kMapFetched, "a worker asks for the map because its own is old")                             \
  BRANCH(kBarrierAhead, "a barrier opens by a newer map than the worker's")                           \
  BRANCH(kSumRefused, "a combined push goes back to those who pushed")                                \
  BRANCH(kSumOverdue, "a combiner goes on without a shard that is late")                              \
  BRANCH(kHeirBegins, "a shard begins where the one before was")                                      \
  BRANCH(kShardTakenAway, "a shard's program ends because another worker has the shard")              \
  BRANCH(kWindowFull, "a shard waits because too much of it is unanswered")                           \
  BRANCH(kSchedulerGivenUp, "a node gives its scheduler up")                                          \
  BRANCH(kRedirected, "a ring's client is told another ring")                                         \
  BRANCH(kPutTriedAgain, "a put comes again to a home that has it")                                   \
  BRANCH(kStandInAsked, "a server stands in for a silent home")                                       \
  BRANCH(kHintKept, "a hint is kept for a silent home")                                               \
  BRANCH(kHintDelivered, "a hint has come to its home")                                               \
  BRANCH(kReadRepaired, "a home that answered with less gets the rest")                               \
  BRANCH(kQuorumMissed, "too few homes answer within a request's deadline")                           \
  BRANCH(kLeavesDiffered, "two servers find that they hold different versions")                       \
  BRANCH(kDiskRestored, "a server that lost its disk has read all again")                             \
  BRANCH(kReadRefused, "a home that has not answers no get")

namespace thalweg {
#define THALWEG_BRANCH_NAME(name, when) name,
enum class Branch : std::size_t { THALWEG_BRANCHES(THALWEG_BRANCH_NAME) kCount };
#undef THALWEG_BRANCH_NAME
// How often, in this process. Simulations run on one thread.
inline std::array<std::uint64_t, static_cast<std::size_t>(Branch::kCount)> branches_reached{};
inline std::array<std::uint64_t, 256> codes_said{};  // Of frames, by Code.
}  // namespace thalweg
#define THALWEG_CODE_SAID(code) (++::thalweg::codes_said[static_cast<std::uint8_t>(code)])
#define THALWEG_REACHED(name) \
  (++::thalweg::branches_reached[static_cast<std::size_t>(::thalweg::Branch::name)])
#else
#define THALWEG_REACHED(name) static_cast<void>(0)
#define THALWEG_CODE_SAID(code) static_cast<void>(0)
#endif
