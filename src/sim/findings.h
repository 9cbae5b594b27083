// The first violation that a run found; everything after it is consequence.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace thalweg::sim {

// Who found it: each checker sees to one promise, and planted bugs name theirs.
enum class Checker : unsigned char {
  kOwners,      // Former owners of a shard, and frames of old maps, are never served.
  kArrivals,    // What servers accept is what shards were to push.
  kGate,        // No pull is answered before its mode allows.
  kPromptness,  // No pull waits that may be answered.
  kMarks,       // An heir is told where its shard stands.
  kCombiners,   // A combiner acknowledges no push before a server has.
  kStaleness,   // Servers tell the staleness that was seen.
  kLimits,      // Queues, open steps, remembered answers.
  kWindow,      // No shard goes on past too many unanswered steps.
  kReaders,     // What shards and the observer read.
  kBarriers,    // Barriers wait for all.
  kReports,     // Each report comes once.
  kMaps,        // Epochs of maps never fall.
  kDamage,      // Damaged frames are refused, all others read back as they were written.
  kPatience,    // Nodes are taken for lost when they are, and not before.
  kEnds,        // The job and each node end as promised, and say why.
  kProgress,    // All work ends in time.
  kSums,        // Tables hold the sums of all pushes.
  kBits,        // Sync: the bits of a run without faults.
  kCopies,      // Servers that have the same range hold the same.
  kSaved,       // What the observer saves is what the servers hold.
  kTakeOver,    // Who comes in the scheduler's place knows what that has said.
  kSameCourse,  // Same seed, same run.
  kDeadline,    // No rank of a group waits beyond the deadline.
  kBlame,       // Ranks name the one because of which an operation does not end.
  kTogether,    // Those who remain form one group.
  kFresh,       // A get meets the puts that were acknowledged before, where quorums overlap.
  kKept,        // No acknowledged put of a version is lost.
  kHints,       // What was kept for a server that was away has come there, and is dropped.
  kRoots,       // Servers that are homes of the same keys come to hold the same of them.
};
inline constexpr std::array<std::string_view, 30> kCheckerNames = {
    "owners",   "arrivals", "gate",     "promptness", "marks", "combiners", "staleness",   "limits",
    "window",   "readers",  "barriers", "reports",    "maps",  "damage",    "patience",    "ends",
    "progress", "sums",     "bits",     "copies",     "saved", "take-over", "same course", "deadline",
    "blame",    "together", "fresh",    "kept",       "hints", "roots"};
constexpr std::string_view checker_name(Checker checker) {
  return kCheckerNames[static_cast<std::size_t>(checker)];
}

// "[gate] server-0: ...": how every violation reads.
inline std::string violation(Checker checker, std::string_view what) {
  std::string out("[");
  return out.append(checker_name(checker)).append("] ").append(what);
}
inline bool found_by(Checker checker, std::string_view violation_text) {
  return violation_text.starts_with(violation(checker, ""));
}

class Findings {
 public:
  void add(Checker checker, std::string_view what) {
    if (first_.empty()) first_ = violation(checker, what);
  }
  bool none() const { return first_.empty(); }
  const std::string& first() const { return first_; }

 private:
  std::string first_;
};

}  // namespace thalweg::sim
