// What becomes of frames between processes: late, lost, doubled, overtaken, damaged, cut, or held up by a
// broken link. Knows nothing of nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/frame.h"
#include "base/instant.h"
#include "base/random.h"
#include "sim/cluster/plan.h"
#include "sim/findings.h"
#include "sim/report.h"

namespace thalweg::sim {

// Answers to this request number belong to no request.
inline constexpr std::uint32_t kNoRequest = ~0u;

struct Link {
  std::uint32_t from = 0;  // Processes.
  std::uint32_t to = 0;
};

// What becomes of a frame itself, whatever else arrives of it.
enum class Fate : std::uint8_t { kSent, kDropped, kFlipped, kCutOff, kNobody };

// A T for each pair of processes that there was something to say of.
template <class T>
class ByPair {
 public:
  T& at(std::uint32_t from, std::uint32_t to) {
    if (rows_.size() <= from) rows_.resize(from + 1);
    std::vector<T>& row = rows_[from];
    if (row.size() <= to) row.resize(to + 1);
    return row[to];
  }
  const T* find(std::uint32_t from, std::uint32_t to) const {
    return from < rows_.size() && to < rows_[from].size() ? &rows_[from][to] : nullptr;
  }

 private:
  std::vector<std::vector<T>> rows_;
};

class Network {
 public:
  struct Arrival {
    Duration after{};
    Frame frame;
    std::vector<std::byte> damaged;  // Instead of the frame, when it is not empty.
  };

  Network(const Plan& plan, Findings& findings);

  // Adds to `out` what arrives of `frame`, which is left as it was unless it is sent. `must_arrive`: this one
  // is spared.
  Fate send(Instant now, Link link, Frame&& frame, bool must_arrive, std::vector<Arrival>& out);
  void block(Link link) { ++broken(link).blocks; }
  void unblock(Link link) { --broken(link).blocks; }
  void clog(Link link, Instant until) { broken(link).clogged_until = until; }
  // The bytes of a damaged frame have come. What a receiver makes of them: nothing, unless it is deceived.
  std::optional<Frame> read_damaged(const std::vector<std::byte>& bytes);
  // The connection between two nodes ends, both ways; what is sent now waits for the next one.
  void close(Instant now, Link link);
  // Grows with each such end: what was sent before it and has not come is lost.
  std::uint32_t connection(Link link) const {
    const std::uint32_t* const ended =
        connections_.find(std::min(link.from, link.to), std::max(link.from, link.to));
    return ended == nullptr ? 0 : *ended;
  }
  // From now on nothing goes wrong.
  void heal() { healed_ = true; }
  const NetworkCounts& counts() const { return counts_; }
  // Counts in a frame that something else carries; returns its bytes.
  std::uint64_t count(const Frame& frame);

 private:
  struct Broken {
    int blocks = 0;
    Instant clogged_until{0};
  };
  // Of a process: when it has sent, and got, all that is under way.
  struct Port {
    Instant sent{0};
    Instant received{0};
  };
  Broken& broken(Link link) { return broken_.at(link.from, link.to); }
  Broken state(Link link) const {
    const Broken* const found = broken_.find(link.from, link.to);
    return found == nullptr ? Broken() : *found;
  }
  bool happens(double probability) { return probability > 0 && random_.chance(probability); }
  Duration latency(Instant now, Link link);
  Duration passage(Instant now, Link link, const Frame& frame);
  std::vector<std::byte> damage(const Frame& frame);
  // A push's first or last ranges in a frame of its own, as a sender with other limits would cut it.
  Frame part_of(const Frame& push);
  Frame through_bytes(const Frame& frame);

  const Plan& plan_;
  Findings& findings_;
  Random random_;
  Random damage_random_;  // Of what was drawn later, so that seeds of old keep their course.
  ByPair<Broken> broken_;
  ByPair<std::uint32_t> connections_;  // That have ended.
  std::map<std::uint32_t, Port> ports_;
  bool healed_ = false;
  NetworkCounts counts_;
};

}  // namespace thalweg::sim
