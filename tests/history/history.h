// What the clients of a job saw, written down by themselves, and whether that is what a job has promised:
// outside the protocol, by whose rules and code nothing here is known. The table that is watched counts: in
// step t shard s adds 1 to column s of the keys that it pushes. So a row tells, shard by shard, how many
// pushes are in it, and who reads it can be held to what had to be in it and to what cannot have been.
#pragma once

#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/status.h"

namespace thalweg {

// Of the machine's steady clock, in nanoseconds, which all its processes share.
using HistoryTime = std::int64_t;
inline constexpr HistoryTime kNotYet = std::numeric_limits<HistoryTime>::max();

struct SeenPush {
  std::uint32_t shard = 0, step = 0;
  HistoryTime begun = 0, answered = kNotYet;
  std::vector<std::uint64_t> keys;
};

struct SeenPull {
  std::uint32_t shard = 0, step = 0;
  HistoryTime begun = 0, ended = 0;
  std::vector<std::uint64_t> keys;
  std::vector<float> counts;  // For each key one of each shard.
};

// What one process saw, in its order.
struct SeenByClient {
  std::string name;
  std::vector<SeenPush> pushes;
  std::vector<SeenPull> pulls;
};

// Rows of the table once the job is over, each with a count for each shard.
using FinalCounts = std::map<std::uint64_t, std::vector<float>>;

// A client's history as lines of a file. Each is there, whatever becomes of the process, once its call
// returns. One thread.
class HistoryFile {
 public:
  static Result<HistoryFile> create(const std::string& path);
  static HistoryTime now();
  // Before the push is made, so that none can be in a row of which nothing is written.
  void begin_push(std::uint32_t shard, std::uint32_t step, std::span<const std::uint64_t> keys);
  void push_answered(std::uint32_t shard, std::uint32_t step);
  void pulled(const SeenPull& pull);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  explicit HistoryFile(std::FILE* file) : file_(file) {}
  void write(const std::string& line);

  std::unique_ptr<std::FILE, Close> file_;
};

// A last line without an end was cut off with its process, and counts as not written. Errors: kIo, kData
// naming file and line.
Result<SeenByClient> read_history(const std::string& path);
// Lines "KEY COUNT...". Errors as those above.
Result<FinalCounts> read_counts(const std::string& path);

enum class HistoryCheck : std::uint8_t {
  kExactlyOnce,     // At the end each push counts once.
  kReadYourWrites,  // A shard sees what it pushed in earlier steps.
  kMonotonicReads,  // A shard that goes on at one client never sees less than it saw.
  kStaleness,       // It sees all others' steps that the bound says; in lockstep these and no others.
  kFreshReads,      // Out of lockstep it sees each push that was answered before it asked.
  kNoInventions,    // It sees no push that nobody had begun.
};
const char* name_of(HistoryCheck check);

struct Anomaly {
  HistoryCheck check;
  std::string text;
};

struct HistoryRules {
  std::uint32_t shards = 0;
  std::uint32_t steps = 0;             // Of each shard, all of which must have been pushed.
  std::optional<std::uint32_t> bound;  // 0: lockstep. Nothing: steps are free.
};

// All anomalies, in no order. Errors: kData where clients tell things that cannot belong together.
Result<std::vector<Anomaly>> check_history(const HistoryRules& rules,
                                           const std::vector<SeenByClient>& clients,
                                           const FinalCounts& counts);

// For how long nobody was answered, and the shard that waited longest, around the moment `at`: the longest
// time between two answers of which the later one is behind `at`, by `within` at most.
struct HistoryGap {
  HistoryTime nobody = 0, worst_shard = 0;
};
class HistoryAnswers {
 public:
  explicit HistoryAnswers(const std::vector<SeenByClient>& clients);
  HistoryGap gap(HistoryTime at, HistoryTime within) const;
  // In [begin, end).
  std::size_t count(HistoryTime begin, HistoryTime end) const;
  HistoryTime first() const { return all_.empty() ? 0 : all_.front(); }
  HistoryTime last() const { return all_.empty() ? 0 : all_.back(); }

 private:
  std::vector<HistoryTime> all_;
  std::map<std::uint32_t, std::vector<HistoryTime>> of_shard_;
};

}  // namespace thalweg
