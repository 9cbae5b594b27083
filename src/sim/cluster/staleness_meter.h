// How old what gradients were computed from is when servers apply them: for each push, how many pushes of
// others to that table the server has applied since the shard read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/frame.h"

namespace thalweg::sim {

class StalenessMeter {
 public:
  // `sent` leaves `server` in the turn that it was given `asked` (null: none).
  void on_answer(NodeId server, const Frame* asked, const Frame& sent);
  // How many pushes were so stale, by staleness.
  const std::vector<std::uint64_t>& histogram() const { return histogram_; }

 private:
  struct Reader {
    std::map<Step, std::uint64_t> read_at;  // How many updates it saw, by steps that it has not pushed to.
    Step pushed;                            // One past its newest one.
  };
  // What a server has of a table.
  struct Part {
    std::uint64_t updates = 0;
    std::map<std::uint32_t, std::uint64_t>
        at_version;  // Where rows say theirs: updates when it was sent first.
    std::map<ShardId, Reader> readers;
  };
  static std::optional<std::uint64_t> read_by(const Part& part, const Reader& reader,
                                              const FrameHeader& push);
  void on_push(Part& part, const Frame& push);

  std::map<std::pair<NodeId, TableId>, Part> parts_;
  std::vector<std::uint64_t> histogram_;
};

}  // namespace thalweg::sim
