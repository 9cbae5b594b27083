// Which operations the ranks of a group are in, kept for a while, so that where one waits too long its call
// can be compared with what the rank that it waits for called: ranks that call different things may wait for
// each other without a byte in between that would tell them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "group/blame.h"
#include "thalweg/status.h"

namespace thalweg {

// One rank's word on one operation. Ranks whose notes have the same place must have the same bytes.
struct CallNote {
  static constexpr std::size_t kBytes = 64;
  struct Place {
    std::uint64_t kind = 0;      // The group, and which of its sequences.
    std::uint64_t sequence = 0;  // Of the operation there.
    bool operator==(const Place&) const = default;
  };
  struct Saying {
    std::uint32_t rank = 0;
    std::array<std::byte, kBytes> bytes{};
  };
  Place place;
  Saying saying;
  // OK, or how the two differ.
  Status (*check)(const Saying& one, const Saying& other) = nullptr;
};

Bytes encode_note(const CallNote& note);
// What encode_note() wrote, but for `check`; none where it is another message.
std::optional<CallNote> decode_note(std::uint32_t from, std::span<const std::byte> message);

// From any thread.
class CallBoard {
 public:
  virtual ~CallBoard() = default;
  // This rank begins an operation.
  void note(const CallNote& note);
  // This rank waits for `peer` in the operation of `note`: tells it, who compares.
  virtual void show(std::uint32_t peer, const CallNote& note) = 0;
  // The same, and waits for a while for what the peer finds; none where it finds nothing.
  virtual std::optional<Verdict> ask(std::uint32_t peer, const CallNote& note) = 0;
  // This rank cannot go on because of what ranks call; all of them are told.
  virtual void judge(Verdict verdict) = 0;
  // Why operations among all ranks cannot end, once that is known.
  virtual std::optional<Verdict> found() const = 0;
  // OK, or how what another rank says differs from what this one says of the same operation.
  Status compare(const CallNote& theirs) const;

 private:
  static constexpr std::size_t kNotes = 64;
  mutable std::mutex mutex_;
  std::array<CallNote, kNotes> notes_{};
  std::size_t next_ = 0;
};

}  // namespace thalweg
