// One server's part of one table with its protocol state: marks, gate, contributions of open steps, replies
// to replay. It owns any set of key ranges, which may change between frames. What may be told of a frame is
// told by check(), which changes nothing; what changes is an entry; apply() cannot fail.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/frame.h"
#include "base/instant.h"
#include "server/arrival_rounds.h"
#include "server/chain/before_images.h"
#include "server/chain/change_log.h"
#include "server/chain/copy_state.h"
#include "server/chain/redo_log.h"
#include "server/changes/touched_rows.h"
#include "server/open_steps.h"
#include "server/push_entry.h"
#include "server/range_marks.h"
#include "server/range_state.h"
#include "server/reply_book.h"
#include "server/row_walk.h"
#include "server/table_cut.h"
#include "staleness/gate.h"
#include "staleness/leads.h"
#include "staleness/reached.h"
#include "table/table.h"
#include "wire/messages.h"

namespace thalweg {

class TableHost {
 public:
  static constexpr std::uint64_t kAllRoom = ~std::uint64_t{0};

  // Owns the ranges that `table` owns. `first`: the step that shards begin with. `heirs_come`: a worker may
  // be lost, and another goes on with its shards.
  TableHost(std::unique_ptr<Table> table, Consistency consistency, std::uint32_t shards, Step first = {},
            bool heirs_come = true);

  // What a push is to change. kRetry: too far ahead of what has arrived. kData: its new rows, of its own keys
  // that have none, would take more than `room` bytes.
  Result<PushEntry> check(const Frame& push, std::uint64_t room = kAllRoom) const;
  // Precondition: check() has returned this here, or for a host in this one's state.
  void apply(PushEntry entry);
  // Both: kOk where the push was applied or kept, or is a repeat of one that was.
  Status push(const Frame& frame, std::uint64_t room = kAllRoom);
  // Rows of one range, dim or stored_width() floats each, as if it had begun with them; a repeat changes
  // nothing. kRefused: not all of the range's pushes are still to come. kData as check() has it.
  Status load(const Frame& frame, std::uint64_t room = kAllRoom);
  // What else is known of one range that begins with what a checkpoint has, once its rows are loaded; a
  // repeat changes nothing. kRefused: there have been pushes, or it is no state of a job like this.
  Status begin(const Frame& frame);
  // The rows, or kRetry while the gate is shut.
  Result<Bytes> pull(const Frame& frame);
  // As FrameHeader::version has it. Precondition: the ranges are owned.
  std::uint32_t version_of(RangeSpan ranges) const {
    return rounds_.counts() && ranges.size() > 0 ? rounds_.version(ranges) + 1 : 0;
  }
  wire::Waiting waiting_for(const FrameHeader& head) const;
  Step clock(ShardId shard) const { return gate_.clocks().of(shard); }
  // For an heir. What is not in the log yet, where there is one, may be lost with this server.
  Reached marks(ShardId shard) const {
    Reached marks = reached_[shard.value];
    marks.low = log_.first_open(shard, clock(shard));
    return marks;
  }
  // From now on changes in these runs of ranges are logged, an entry being of one run.
  void log_changes(std::vector<RangeSpan> runs);
  // Whether copy_state() has all that was acknowledged. Not before those steps have closed that were open
  // when the log began: what had come of them is not held back, and in no entry.
  bool logs_all() const { return !open_steps_.any_before(logged_from_); }
  bool logs() const { return log_.on(); }
  // Whether something of a push that has come is not in the log yet, as its step is open.
  bool holds_back(const FrameHeader& push) const {
    return log_.holds_back(push.shard, push.shard_count(), push.step);
  }
  std::vector<LogEntry> take_log() { return log_.take(); }
  // From now on what steps change is kept, as another server may have shown shards what is owned here.
  void keep_images() { keeps_images_ = policy_->steps_replayed() > 0; }
  // Adopts ranges of copies: those of a server that is lost, which has shown their rows to shards. As
  // adopt().
  Status take_over(TableHost& copies, const RangeSet& ranges);
  // An entry of another host's log, where its ranges are owned as copies of that host's; what is known of it
  // already changes nothing. Unless OK, it does not follow what came before it.
  Status replay(LogEntry entry);
  // Brings rows up to date with entries, but for those of the newest steps, so many of them. Until then rows
  // are those of some time before.
  void redo(std::size_t steps_left);
  std::size_t bytes_to_redo() const { return redo_.bytes(); }

  // In lockstep: cuts when the steps before this one, and no other, are in the rows; false: a later one
  // is. Else: cuts what is there once the steps before it have come of all shards, or more have; false: some
  // shard's work has ended. An earlier wish is forgotten, and so is a cut when ranges move. A cut that is to
  // have the changes since an earlier one has all rows of ranges of which that is not known.
  bool cut_before(Step step, CutMark mark = {});
  // Once it is made: what each range begins with where work goes on from there, but for rows.
  bool has_cut() const { return cut_.has_value(); }
  TableCut take_cut();
  // Of its rows, as they were then, the next ones: see RowWalk. Nothing: there are no more.
  std::optional<LoadEntry> next_of_cut(std::size_t bytes);
  void drop_cut();
  // How far that would be now: kEndOfWork once a shard's work has ended.
  Step cut_clock() const;
  // Rows of some range hold steps before this one, and no rows hold a later one.
  Step applied() const { return applied_; }
  // What whoever keeps a copy of a range would know now, had it been told all, but for its rows.
  // Precondition: it is owned, and logs_all().
  CopyState copy_state(RangeId range);
  // Of the rows that such a copy would have now, so many from row `from` on, or what is left of them.
  Payload copied_rows(RangeId range, std::uint64_t from, std::size_t count);
  // How many rows are about so many bytes; one at least.
  std::size_t rows_in(std::size_t bytes) const { return std::max<std::size_t>(1, bytes / row_bytes()); }
  // Begins a copy with what is known of it, in the place of any other. Unless OK, it has none. Its rows come
  // piece by piece; until then what changes them is in the pieces that are to come, and left out.
  Status begin_copy(CopyState known);
  // The next rows, ascending. Unless OK, they do not follow those before. Precondition: it lacks some.
  Status fill_copy(RangeId range, const Payload& rows, bool last);
  bool fills_copy(RangeId range) const { return filled_.contains(range); }
  // It has all rows, and so much is known besides. Unless OK, entries since it began have told it otherwise.
  Status end_copy(CopyState known);

  // All that is known of a range. Precondition: it is owned, and nothing is left to redo.
  RangeState state_of(RangeId range) const;
  // The same but for its rows.
  RangeState known_of(RangeId range) const;
  // Gives ranges up with all that is known of them, one value each, or without. Precondition of both: they
  // are owned.
  std::vector<RangeState> give_up(const RangeSet& ranges);
  void drop(const RangeSet& ranges);
  // Takes over what others gave up. Unless OK, nothing has changed. Precondition: none of it is owned.
  Status adopt(std::vector<RangeState> states);

  const RangeSet& owned() const { return table_->owned(); }
  const Table& table() const { return *table_; }
  // Nothing where no range is owned, though the table keeps some memory of its own.
  TableStats stats() const { return owned().empty() ? TableStats{} : table_->stats(); }
  // Of the table, and of rows for all that open steps hold, whether or not there are such rows.
  std::uint64_t bytes_in_use() const;
  // What a push can add to that.
  std::uint64_t bytes_at_most(const Frame& push) const {
    return table_->spec().kind == TableSpec::Kind::kDense ? 0 : push.keys().size() * row_bytes();
  }
  const Leads& leads() const { return leads_; }
  std::uint64_t repeats() const { return repeats_; }
  // How many pushes were so many updates behind what they were computed on; none where pushes are not
  // counted.
  const std::map<std::uint32_t, std::uint64_t>& pushes_behind() const { return rounds_.counted(); }
  // Whether a push to this step is dropped, if it is not a repeat.
  bool is_late(Step step) const;
  std::uint64_t pushes_dropped() const { return dropped_; }
  std::size_t steps_open() const { return open_steps_.size(); }
  std::size_t replies_remembered() const { return replies_.size(); }
  std::uint64_t replies_bytes() const { return replies_.bytes(); }
  // When the open step is to be closed without those who have not pushed to it, as is known at `now`; kNever
  // where it waits for all, or nobody has pushed to it.
  Instant closes_at(Instant now);
  // Closes it if that moment has come.
  void close_expired(Instant now);
  // Grows whenever a waiting pull may have become answerable.
  std::uint64_t version() const { return version_; }

 private:
  Status check_payload(const Frame& push) const;
  Status check_room(const Frame& push, std::uint64_t room) const;
  bool has_pushes(RangeId range) const;
  std::uint64_t row_bytes() const { return sizeof(Key) + table_->stored_width() * sizeof(float); }
  // In which ranges a push is new, of any of its shards, and where it ends more than was known; a re-split
  // repeat may be new for some ranges only.
  Status find_news(const FrameHeader& head, PushEntry& entry) const;
  Status check_pull(const Frame& frame) const;
  void mark(const PushEntry& entry);
  void log_closed();
  std::vector<RangeSpan> copied_alike(RangeSpan ranges) const;
  Status replay_owned(LogEntry entry);
  Status replay(PushEntry push);
  Status replay(const StepEntry& step);
  Status replay(const LoadEntry& load);
  Status replay(BeginEntry begin);
  bool begins_alike(const RangeState& state) const;
  void take_on(RangeState state);
  // Whether a step boundary is a state of all that has come.
  bool in_lockstep() const { return policy_->keeps_steps() && !policy_->drops_late(); }
  void apply_part(const PushEntry& entry, RangeSpan ranges);
  // What of a change is to rows that a copy has. Precondition: ranges that lack some are told of one by one.
  Payload to_rows_there(RangeSpan ranges, Payload change) const;
  void redo_later(Step step, RangeSpan ranges, Payload change);
  void apply_counted(const PushEntry& entry, StaleRun run);
  Status check_rounds(const RangeState& state) const;
  void advance_clock(ShardId shard);
  void close_steps();
  void close_before(Step closed);
  void take_rows();
  void before_change(const Contribution& part);
  void change_rows(std::span<const Contribution> parts);
  void add_known(TableCut& cut) const;
  std::vector<RangeState> known_of(const RangeSet& ranges) const;
  Status check_gain(const std::vector<RangeState>& states) const;
  void gain(std::vector<RangeState> states);
  void forget(const RangeSet& ranges);
  void own_anew();
  void count_read(const FrameHeader& head);

  std::unique_ptr<Table> table_;
  std::unique_ptr<const StepPolicy> policy_;
  Gate gate_;
  RangeMarks marks_;
  std::vector<Reached> reached_;  // By shard; `low` is the gate's.
  std::vector<Step> counted_;     // By shard: steps before this one count in leads_, if they were read.
  OpenSteps open_steps_;
  ArrivalRounds rounds_;
  ReplyBook replies_;
  ChangeLog log_;
  Step logged_from_;     // Pushes to earlier steps had come when the log began.
  RedoLog redo_;         // Of copies.
  bool defers_ = false;  // A copy's.
  BeforeImages images_;  // Of copies, and of what was one.
  bool keeps_images_ = false;
  std::set<Step> open_arrivals_;             // Of which something has come; where images are kept.
  std::vector<Step> copied_;                 // By range: sums of steps before this one are in the copies.
  std::map<RangeId, std::uint64_t> filled_;  // Of copies that lack rows: those before this one have come.
  std::optional<Step> cut_at_;               // Before which a cut is wanted.
  std::optional<TableCut> cut_;
  std::optional<RowWalk> walk_;  // Of the cut's rows.
  CutMark mark_;                 // Of the cut that is wanted.
  TouchLog touched_;             // Since cuts that later ones refer to.
  Step applied_;
  Leads leads_;
  std::uint64_t repeats_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t version_ = 0;
  Step timed_;                  // The step whose time runs,
  Instant timed_out_ = kNever;  // and when it is over.
};

}  // namespace thalweg
