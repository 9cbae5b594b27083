#include "history.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg {
namespace {

// What is known of a shard's pushes to one key, each list in its order.
struct KeyPushes {
  std::vector<std::uint32_t> steps;
  std::vector<HistoryTime> begun, answered;
};

template <typename T>
std::size_t below(const std::vector<T>& sorted, T value) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
}

class Checking {
 public:
  explicit Checking(const HistoryRules& rules) : rules_(rules) {}

  Status learn(const std::vector<SeenByClient>& clients);
  Status check_sums(const FinalCounts& counts);
  Status check_client(const SeenByClient& client);
  std::vector<Anomaly> anomalies;

 private:
  // A client's shard at work: what it saw last of each key.
  struct Session {
    std::uint32_t step = 0;
    std::map<std::uint64_t, std::vector<float>> seen;
  };

  const KeyPushes& of(std::uint64_t key, std::uint32_t shard) const {
    static const KeyPushes kNone;
    const auto found = pushes_.find(key);
    return found == pushes_.end() ? kNone : found->second[shard];
  }
  void check_count(const SeenPull& pull, std::uint64_t key, std::uint32_t shard, std::size_t count);
  void check_row(const SeenPull& pull, std::size_t row, Session& session);
  void found(HistoryCheck check, std::string text) { anomalies.push_back({check, std::move(text)}); }

  const HistoryRules rules_;
  std::map<std::uint64_t, std::vector<KeyPushes>> pushes_;
};

// A push is named by its shard and step, whoever makes it, and however often.
Status Checking::learn(const std::vector<SeenByClient>& clients) {
  std::vector<std::map<std::uint32_t, SeenPush>> merged(rules_.shards);
  for (const SeenByClient& client : clients) {
    for (const SeenPush& push : client.pushes) {
      if (push.shard >= rules_.shards || push.step >= rules_.steps) {
        return {Code::kData, fmt::format("{}: a push of shard {} in step {}, expected {} shards of {} steps",
                                         client.name, push.shard, push.step, rules_.shards, rules_.steps)};
      }
      const auto [known, is_new] = merged[push.shard].try_emplace(push.step, push);
      if (known->second.keys != push.keys) {
        return {Code::kData, fmt::format("{}: shard {} pushes other keys in step {} than it did before",
                                         client.name, push.shard, push.step)};
      }
      known->second.begun = std::min(known->second.begun, push.begun);
      known->second.answered = std::min(known->second.answered, push.answered);
    }
  }
  for (std::uint32_t shard = 0; shard < rules_.shards; ++shard) {
    if (merged[shard].size() != rules_.steps) {
      return {Code::kData, fmt::format("shard {} was seen to push in {} steps, expected {}", shard,
                                       merged[shard].size(), rules_.steps)};
    }
    for (const auto& [step, push] : merged[shard]) {
      for (const std::uint64_t key : push.keys) {
        auto& of_key = pushes_[key];
        of_key.resize(rules_.shards);
        of_key[shard].steps.push_back(step);
        of_key[shard].begun.push_back(push.begun);
        of_key[shard].answered.push_back(push.answered);
      }
    }
  }
  for (auto& [key, of_key] : pushes_) {
    for (KeyPushes& of_shard : of_key) {
      std::sort(of_shard.begun.begin(), of_shard.begun.end());
      std::sort(of_shard.answered.begin(), of_shard.answered.end());
    }
  }
  return ok_status();
}

Status Checking::check_sums(const FinalCounts& counts) {
  for (const auto& [key, row] : counts) {
    if (row.size() != rules_.shards) {
      return {Code::kData,
              fmt::format("key {} has {} counts at the end, expected {}", key, row.size(), rules_.shards)};
    }
    for (std::uint32_t shard = 0; shard < rules_.shards; ++shard) {
      const auto expected = static_cast<float>(of(key, shard).steps.size());
      if (row[shard] == expected) continue;
      found(HistoryCheck::kExactlyOnce,
            fmt::format("key {} has {} pushes of shard {} at the end, expected {}", key, row[shard], shard,
                        expected));
    }
  }
  for (const auto& [key, of_key] : pushes_) {
    if (!counts.contains(key))
      found(HistoryCheck::kExactlyOnce, fmt::format("key {} was pushed to and has no row at the end", key));
  }
  return ok_status();
}

void Checking::check_count(const SeenPull& pull, std::uint64_t key, std::uint32_t shard, std::size_t count) {
  const KeyPushes& pushes = of(key, shard);
  const auto say = [&](HistoryCheck check, const char* relation, std::size_t expected) {
    found(check, fmt::format("shard {} in step {} sees {} pushes of shard {} in key {}, expected {} {}",
                             pull.shard, pull.step, count, shard, key, relation, expected));
  };
  const bool own = shard == pull.shard;
  if (own) {
    const std::size_t least = below(pushes.steps, pull.step);
    if (count < least) say(HistoryCheck::kReadYourWrites, "at least", least);
  } else if (rules_.bound) {
    const std::uint32_t bound = *rules_.bound;
    const std::size_t least = below(pushes.steps, pull.step < bound ? 0 : pull.step - bound);
    if (count < least) say(HistoryCheck::kStaleness, "at least", least);
  }
  if (rules_.bound == 0u) {
    const std::size_t most = below(pushes.steps, pull.step);
    if (count > most) say(HistoryCheck::kStaleness, "at most", most);
  } else if (!own) {
    const std::size_t least = below(pushes.answered, pull.begun);
    if (count < least) say(HistoryCheck::kFreshReads, "at least", least);
  }
  const std::size_t most = below(pushes.begun, pull.ended);
  if (count > most) say(HistoryCheck::kNoInventions, "at most", most);
}

void Checking::check_row(const SeenPull& pull, std::size_t row, Session& session) {
  const std::uint64_t key = pull.keys[row];
  const std::span<const float> counts(&pull.counts[row * rules_.shards], rules_.shards);
  std::vector<float>& before = session.seen[key];
  before.resize(rules_.shards);
  for (std::uint32_t shard = 0; shard < rules_.shards; ++shard) {
    const float count = counts[shard];
    if (!(count >= 0) || count != static_cast<float>(static_cast<std::size_t>(count))) {
      found(HistoryCheck::kNoInventions,
            fmt::format("shard {} in step {} sees {} pushes of shard {} in key {}, expected a whole number",
                        pull.shard, pull.step, count, shard, key));
      continue;
    }
    if (count < before[shard]) {
      found(HistoryCheck::kMonotonicReads,
            fmt::format("shard {} in step {} sees {} pushes of shard {} in key {}, after {}", pull.shard,
                        pull.step, count, shard, key, before[shard]));
    }
    before[shard] = count;
    check_count(pull, key, shard, static_cast<std::size_t>(count));
  }
}

// A shard that comes back to a client may begin again where another one was.
Status Checking::check_client(const SeenByClient& client) {
  std::map<std::uint32_t, Session> sessions;
  for (const SeenPull& pull : client.pulls) {
    if (pull.shard >= rules_.shards || pull.counts.size() != pull.keys.size() * rules_.shards) {
      return {Code::kData,
              fmt::format("{}: a pull of shard {} of {} numbers, expected {} for each of {} keys",
                          client.name, pull.shard, pull.counts.size(), rules_.shards, pull.keys.size())};
    }
    Session& session = sessions[pull.shard];
    if (pull.step <= session.step) session.seen.clear();
    session.step = pull.step;
    for (std::size_t row = 0; row < pull.keys.size(); ++row) check_row(pull, row, session);
  }
  return ok_status();
}

HistoryTime longest_gap(const std::vector<HistoryTime>& answers, HistoryTime at, HistoryTime within) {
  HistoryTime longest = 0;
  for (std::size_t i = below(answers, at); i < answers.size() && answers[i] <= at + within; ++i) {
    if (i > 0) longest = std::max(longest, answers[i] - answers[i - 1]);
  }
  return longest;
}

}  // namespace

const char* name_of(HistoryCheck check) {
  switch (check) {
    case HistoryCheck::kExactlyOnce:
      return "exactly-once";
    case HistoryCheck::kReadYourWrites:
      return "read-your-writes";
    case HistoryCheck::kMonotonicReads:
      return "monotonic-reads";
    case HistoryCheck::kStaleness:
      return "staleness";
    case HistoryCheck::kFreshReads:
      return "fresh-reads";
    case HistoryCheck::kNoInventions:
      return "no-inventions";
  }
  return "";
}

Result<std::vector<Anomaly>> check_history(const HistoryRules& rules,
                                           const std::vector<SeenByClient>& clients,
                                           const FinalCounts& counts) {
  Checking checking(rules);
  if (Status status = checking.learn(clients); !status.ok()) return status;
  if (Status status = checking.check_sums(counts); !status.ok()) return status;
  for (const SeenByClient& client : clients) {
    if (Status status = checking.check_client(client); !status.ok()) return status;
  }
  return std::move(checking.anomalies);
}

HistoryAnswers::HistoryAnswers(const std::vector<SeenByClient>& clients) {
  const auto add = [&](std::uint32_t shard, HistoryTime at) {
    all_.push_back(at);
    of_shard_[shard].push_back(at);
  };
  for (const SeenByClient& client : clients) {
    for (const SeenPull& pull : client.pulls) add(pull.shard, pull.ended);
    for (const SeenPush& push : client.pushes) {
      if (push.answered != kNotYet) add(push.shard, push.answered);
    }
  }
  std::sort(all_.begin(), all_.end());
  for (auto& [shard, answers] : of_shard_) std::sort(answers.begin(), answers.end());
}

HistoryGap HistoryAnswers::gap(HistoryTime at, HistoryTime within) const {
  HistoryGap gap{longest_gap(all_, at, within), 0};
  for (const auto& [shard, answers] : of_shard_)
    gap.worst_shard = std::max(gap.worst_shard, longest_gap(answers, at, within));
  return gap;
}

std::size_t HistoryAnswers::count(HistoryTime begin, HistoryTime end) const {
  return below(all_, end) - below(all_, begin);
}

}  // namespace thalweg
