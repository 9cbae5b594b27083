// Versions of a value: those that no other has seen are kept side by side until a put has seen them all.
//
// Dotted version vectors (Preguiça et al., "Dotted Version Vectors", 2010): a version is named by the dot
// that its coordinator gave it, and says which others were seen by whoever put it. Clocks alone, as in
// Dynamo, lose one of two puts that come through the same coordinator and have seen the same.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "staleness/vector_clock.h"
#include "thalweg/ids.h"

namespace thalweg::quorum {

// One put: the count-th of an actor, of one key. An actor is a server in one life of its disk.
struct Dot {
  VectorClock::Actor actor = 0;
  std::uint64_t count = 0;
  constexpr auto operator<=>(const Dot&) const = default;
};
constexpr VectorClock::Actor actor_of(std::uint32_t server, std::uint32_t life) {
  return (VectorClock::Actor{life} << 32) | server;
}

// A put, however many tries it takes: several of them may have become versions. 0: it has no name.
using PutName = std::uint64_t;

struct Version {
  Dot dot;
  VectorClock context;  // What had been seen by whoever put it.
  Bytes value;
  PutName put = 0;
};

// What is known of one key. Wherever an actor's dot is, all dots of the same actor and key before it have
// been seen too, as coordinators send what they have and not only what is new: so a clock tells them all.
class Record {
 public:
  // Whether it was news.
  bool merge(const Record& other);
  bool add(Version version);
  const std::vector<Version>& versions() const { return versions_; }  // By dot.
  // One version of each put.
  std::vector<const Version*> puts() const;
  bool has(PutName put) const;
  bool empty() const { return versions_.empty(); }
  // The context of a put that has seen all versions.
  VectorClock clock() const;
  std::size_t bytes() const;
  // Equal where the same versions are; 0: none.
  std::uint64_t digest(Key key) const;

 private:
  std::vector<Version> versions_;
};

// Grammar:
//   clock  := count:u32 (actor:u64 events:u64)*, actors ascend, no events are 0
//   record := count:u32 (actor:u64 count:u64 put:u64 context:clock value:text)*
void put_clock(Writer& out, const VectorClock& clock);
VectorClock get_clock(Reader& in);
void put_record(Writer& out, const Record& record);
Record get_record(Reader& in);

}  // namespace thalweg::quorum
