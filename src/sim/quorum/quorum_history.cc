#include "sim/quorum/quorum_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace thalweg::sim {

QuorumHistory::Value QuorumHistory::begin_put(Key key, const std::vector<Value>& seen) {
  const auto value = static_cast<Value>(puts_.size());
  Put put;
  put.key = key;
  for (const Value one : seen) {
    put.seen.insert(one);
    put.seen.insert(puts_[one].seen.begin(), puts_[one].seen.end());
  }
  puts_.push_back(std::move(put));
  of_key_[key].push_back(value);
  return value;
}

void QuorumHistory::end_put(Value value, Instant now, bool acknowledged) {
  if (!acknowledged) return;
  puts_[value].acknowledged = now;
  ++acknowledged_;
}

std::vector<QuorumHistory::Value> QuorumHistory::values_of(Key key, const std::vector<std::string>& texts) {
  std::vector<Value> out;
  for (const std::string& text : texts) {
    Value value = kNone;
    std::from_chars(text.data(), text.data() + text.size(), value);
    if (value >= puts_.size() || puts_[value].key != key) {
      findings_.add(Checker::kReaders, fmt::format("key {} has the value '{}', which nobody put", key, text));
      continue;
    }
    out.push_back(value);
  }
  return out;
}

QuorumHistory::Value QuorumHistory::missing(Key key, Instant by, const std::vector<Value>& values) const {
  const auto of_key = of_key_.find(key);
  if (of_key == of_key_.end()) return kNone;
  for (const Value put : of_key->second) {
    if (puts_[put].acknowledged > by || puts_[put].acknowledged == kNever) continue;
    const bool known = std::ranges::any_of(
        values, [&](Value value) { return value == put || puts_[value].seen.contains(put); });
    if (!known) return put;
  }
  return kNone;
}

std::vector<QuorumHistory::Value> QuorumHistory::end_get(Key key, Instant begun,
                                                         const std::vector<std::string>& texts,
                                                         bool must_be_fresh) {
  const std::vector<Value> values = values_of(key, texts);
  for (auto at = values.begin(); at != values.end(); ++at) {
    if (std::find(values.begin(), at, *at) == at) continue;
    findings_.add(Checker::kReaders, fmt::format("a get of key {} has value {} twice", key, *at));
  }
  const Value missed = missing(key, begun, values);
  if (missed == kNone) return values;
  ++stale_;
  if (fresh_ || must_be_fresh) {
    findings_.add(
        Checker::kFresh,
        fmt::format("a get of key {} that began at {:.6f} s misses value {}, acknowledged at {:.6f} s", key,
                    static_cast<double>(begun.ns) * 1e-9, missed,
                    static_cast<double>(puts_[missed].acknowledged.ns) * 1e-9));
  }
  return values;
}

void QuorumHistory::at_end(std::uint32_t server, Key key, const std::vector<std::string>& texts) {
  const std::vector<Value> values = values_of(key, texts);
  const Value missed = missing(key, Instant{kNever.ns - 1}, values);
  if (missed == kNone) return;
  findings_.add(Checker::kKept,
                fmt::format("server-{} has neither value {} of key {}, which was acknowledged, "
                            "nor one that was put by who had seen it",
                            server, missed, key));
}

}  // namespace thalweg::sim
