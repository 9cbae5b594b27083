// What comes to a server of ranges whose chains it joins: of each what is known, its rows piece by piece,
// what these come to, and what is known then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/frame.h"
#include "server/chain/range_of.h"
#include "server/table_host.h"
#include "thalweg/status.h"

namespace thalweg {

class CopiesIn {
 public:
  using IsOf = std::function<bool(RangeOf)>;

  // By a newer map: begin_map(), expect() for each range that is joined, end_map(). What an attempt that has
  // been given up has brought counts for nothing then.
  void begin_map() { joining_.clear(); }
  void expect(RangeOf range, std::uint32_t attempt) { joining_[range] = attempt; }
  void end_map();
  // Whether an attempt to join has brought any of it.
  bool has_of(RangeOf range, std::uint32_t attempt) const;

  bool expects(RangeOf range, std::uint32_t attempt) const;
  // Precondition: it is expected. kData: it is not what was sent.
  Status take(const Frame& piece, TableHost& copies, std::uint32_t shards);
  // The sender says that what an attempt has brought of its ranges is whole.
  void on_vouched(std::uint32_t attempt, const IsOf& is_its);

  bool any_joined() const { return !joined_.empty(); }
  bool has_joined(RangeOf range) const { return joined_.contains(range); }
  void note_joined(RangeOf range, std::uint32_t attempt) { joined_[range] = attempt; }
  // Whether nothing of these ranges is still on its way.
  bool has_all(const IsOf& of_these) const;

 private:
  struct Arriving {
    std::uint32_t joining = 0;
    std::vector<std::byte> bytes;  // Of what is known besides rows.
    bool begun = false;
    std::uint64_t compared = 0;  // Rows before this one have been.
    bool whole = false;          // Which counts once the sender vouches for it.
  };
  static Status take_rows(Arriving& arriving, TableHost& copies, const Frame& piece);
  static Status take_known(Arriving& arriving, TableHost& copies, const Frame& piece, std::uint32_t shards);

  // By which attempt they are joined, and by which this server has got the copy.
  std::map<RangeOf, std::uint32_t> joining_, joined_;
  std::map<RangeOf, Arriving> arriving_;
};

}  // namespace thalweg
