// A state store in one directory of a disk: a log of changes, each of which is there once its call has
// returned, whatever happens then. For one process at a time, which has all of it in memory as well.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/disk.h"
#include "node/node.h"
#include "node/state_store.h"

namespace thalweg::state {

class StateLog final : public StateStore {
 public:
  // What is in `directory`, which is made where there is nothing. Leases end with the process that held them.
  // `disk` and `clock` outlive the log. kUsage: another process has it. kModel: the log is damaged before its
  // end. A last change that is not whole was never told, and is cut off.
  static Result<std::unique_ptr<StateLog>> open(Disk& disk, const std::string& directory, const Clock& clock);

  Result<StateView> get(std::string_view prefix) override;
  Result<std::uint64_t> swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                             StateLease lease) override;
  // Nobody else changes what is here: what is asked for is there, or does not come.
  Result<std::vector<StateEvent>> watch(std::string_view prefix, std::uint64_t after, Duration wait) override;
  Result<StateLease> grant(Duration length) override;
  Status renew(StateLease lease) override;
  Status revoke(StateLease lease) override;

  std::uint64_t bytes() const { return bytes_; }  // Of the log on disk.

 private:
  struct Held {
    StateEntry entry;
    StateLease lease = 0;
  };
  struct Lease {
    Duration length{};
    Instant ends;
  };

  StateLog(Disk& disk, std::string directory, const Clock& clock)
      : disk_(disk), directory_(std::move(directory)), clock_(clock) {}
  Status read();
  Result<std::uint64_t> take_records(std::span<const std::byte> log);
  bool take_record(std::span<const std::byte> payload);
  Status make(std::span<const StateChange> changes, StateLease lease);
  void note(std::span<const StateChange> changes);
  Status end_leases();
  Status end_lease(StateLease lease);
  Status write(std::span<const StateChange> changes);
  Status append(std::span<const StateChange> changes);
  struct Staged {
    std::string path;
    std::unique_ptr<File> file;
    std::uint64_t bytes = 0;
  };
  Result<Staged> stage_anew();
  Status put_in_place(Staged staged);
  std::string path() const { return directory_ + "/log"; }

  Disk& disk_;
  const std::string directory_;
  const Clock& clock_;
  std::unique_ptr<Claim> claim_;
  std::unique_ptr<File> file_;  // Null: the next change begins a new one.
  std::uint64_t bytes_ = 0;     // Of the file.
  std::uint64_t anew_at_ = 0;   // With more bytes than that the next change begins a new one, too.
  std::map<std::string, Held, std::less<>> entries_;
  std::uint64_t revision_ = 0;
  std::map<StateLease, Lease> leases_;
  StateLease last_lease_ = 0;
  std::deque<StateEvent> events_;
  std::uint64_t forgotten_ = 0;  // Of this revision and those before there are no events.
};

}  // namespace thalweg::state
