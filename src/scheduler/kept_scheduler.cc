#include "scheduler/kept_scheduler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/coverage/reached.h"
#include "base/limits.h"
#include "base/planted.h"

namespace thalweg {
namespace {

// What is held back may be forgotten: it is asked for again.
constexpr std::size_t kHeldMax = 4 * limits::kNodesMax;
// A word of one of these may be under way yet, to a node that has said what it was told before.
constexpr std::size_t kLeadsKept = 16;

}  // namespace

KeptScheduler::KeptScheduler(Scheduler& scheduler, StateStore* store, const KeptState& kept)
    : scheduler_(scheduler),
      store_(store),
      image_(scheduler.image()),
      kept_epoch_(scheduler.map().epoch),
      write_(store, kept.lead, kept.last_write),
      number_(kept.number),
      earlier_(kept.earlier) {
  for (const EarlierLead& one : earlier_) leads_before_.push_back(one.number);
  if (store_ != nullptr && !THALWEG_BUG(kOlderStateTaken)) awaited_ = scheduler_.members_told();
}

// What one turn says.
class KeptScheduler::Gate final : public Transport {
 public:
  Gate(KeptScheduler& owner, Transport& out) : owner_(owner), out_(out) {}
  void send(NodeId to, Frame frame) override { said_.push_back({to, std::move(frame), 0}); }
  void introduce(NodeId node, std::string_view address) override { out_.introduce(node, address); }
  void rename_self(NodeId id, std::uint64_t cluster) override { out_.rename_self(id, cluster); }

  // Once it is known whether anything has changed. That the scheduler is there may be said at any time, by
  // the newest map that is kept; also in place of what is held back, for whoever waits for a sign of life.
  void close() {
    const bool settled = owner_.kept_ == owner_.changes_ || THALWEG_BUG(kAnnouncedUnkept);
    const bool free = settled && owner_.awaited_.empty();
    for (Held& one : said_) {
      const bool for_people = one.frame.head.op == Op::kStatusReply;  // Nobody acts upon it.
      const std::uint8_t doubt = owner_.in_doubt_ && !THALWEG_BUG(kDoubtUnsaid) ? wire::kInDoubt : 0;
      if (one.frame.head.op == Op::kHeartbeat) one.frame.head.flags = doubt;
      if (for_people || (free && owner_.held_.empty())) {
        if (!for_people) one.frame.second = owner_.mark_for(one.to);
        out_.send(one.to, std::move(one.frame));
        continue;
      }
      Frame alive;
      alive.head = one.frame.head;
      alive.head.op = Op::kHeartbeat;
      alive.head.map_epoch = owner_.kept_epoch_;
      alive.head.code = Code::kOk;
      if (owner_.awaited_.empty()) alive.second = owner_.mark_for(one.to);
      const Op op = one.frame.head.op;
      const bool awaited = op == Op::kReportReply || op == Op::kBarrierReply || op == Op::kWaiting;
      const bool told = awaited && owner_.keeps_waiting();
      if (told) {  // Each time something else than before: whoever asks is not to give up.
        alive.head.op = Op::kWaiting;
        alive.first = encode(wire::Waiting{++owner_.waits_, {}});
      }
      if (!told) alive.head.flags = doubt;
      if (told || op == Op::kHeartbeat || op == Op::kMap) out_.send(one.to, std::move(alive));
      if (op == Op::kHeartbeat || (told && op == Op::kWaiting) || owner_.held_.size() >= kHeldMax) continue;
      THALWEG_REACHED(kSaidLater);
      one.change = owner_.changes_;
      owner_.held_.push_back(std::move(one));
    }
  }

 private:
  KeptScheduler& owner_;
  Transport& out_;
  std::vector<Held> said_;
};

// Which write was the last that has counted. kStale: another one leads. kModel: none of what has.
Status KeptScheduler::Write::look() {
  for (StateGuard guard : {lead_, last_}) {
    const auto view = store_->get(guard.key);
    if (view.status().code() == Code::kModel) return view.status();
    if (!view) return {Code::kRetry, view.status().message()};
    const auto found = view->entries.find(guard.key);
    const std::uint64_t revision = found == view->entries.end() ? 0 : found->second.revision;
    if (revision < guard.revision && !(guard.key == last_.key && THALWEG_BUG(kGoneBackWritten))) {
      THALWEG_REACHED(kOwnWriteGone);
      return {Code::kModel, fmt::format("'{}' is of revision {} there, expected {} or a later one", guard.key,
                                        revision, guard.revision)};
    }
    if (guard.key == last_.key) {
      last_.revision = revision;
    } else if (revision != lead_.revision) {
      return {Code::kStale, "another scheduler has taken the lead"};
    }
  }
  return ok_status();
}

void KeptScheduler::Write::compute() {
  if (in_doubt_) {
    THALWEG_REACHED(kWriteInDoubt);
    const Status seen = look();
    in_doubt_ = !seen.ok();
    if (in_doubt_) {
      done = seen;
      return;
    }
  }
  std::vector<StateGuard> guards;
  if (!THALWEG_BUG(kTermUnguarded)) guards.push_back(lead_);
  if (!THALWEG_BUG(kWritesUnchained)) guards.push_back(last_);
  changes.back().value = std::to_string(++tries);
  done = store_->swap(guards, changes);
  in_doubt_ = !done;
  if (done) last_.revision = *done;
  if (done.status().code() != Code::kStale) return;
  const Status seen = look();  // Another one leads, the state has gone back, or the write before has counted.
  done = seen;
  if (!seen.ok()) return;
  THALWEG_REACHED(kWriteCountedLate);
  done = Status(Code::kRetry, "a write before it has counted late");
}

Bytes KeptScheduler::mark_for(NodeId to) const {
  const auto told = told_.find(to);
  return encode(wire::SaidMark{{number_, writes_}, told == told_.end() ? wire::StateMark() : told->second});
}

void KeptScheduler::hear_mark(NodeId from, const wire::StateMark& told) {
  const auto before = std::ranges::find(earlier_, told.lead, &EarlierLead::number);
  const bool never = told.lead != number_ && before == earlier_.end();
  const std::uint32_t known = told.lead == number_ ? writes_ : never ? 0 : before->writes;
  // Whoever is lost stays so, in every later state: its lead may be forgotten.
  const bool is_out = scheduler_.lost(from) || scheduler_.has_left(from);
  if ((never ? !is_out : told.write > known) && !THALWEG_BUG(kOlderStateTaken)) {
    THALWEG_REACHED(kStateOlder);
    return fence(
        {Code::kModel,
         fmt::format("{} was told what the state of this job does not have, write {} of scheduler {:08x}, of "
                     "which {} are there",
                     node_name(from), told.write, told.lead, known)});
  }
  told_[from] = told;
  awaited_.erase(from);
}

// Who is lost meanwhile cannot say anything.
void KeptScheduler::await_members() {
  if (scheduler_.stopped() && scheduler_.finished()) awaited_.clear();
  std::erase_if(awaited_, [this](NodeId node) { return scheduler_.lost(node) || scheduler_.has_left(node); });
}

void KeptScheduler::fence(Status why) {
  if (fenced_) return;
  fenced_ =
      Status(why.code(), "the scheduler's state has gone back, such as by an older backup: " + why.message() +
                             "; nobody was told anything by it. Start the scheduler again on a state that is "
                             "no older, else the job anew, from its last checkpoint where it has one");
  held_.clear();
}

void KeptScheduler::turn(Transport& out, const std::function<void(Transport&)>& act) {
  if (fenced_) return;
  if (store_ == nullptr) return act(out);
  Gate gate(*this, out);
  act(gate);
  note_changes();
  await_members();
  let_out(out);
  gate.close();
}

void KeptScheduler::note_changes() {
  bool changed = false;
  for (KeptReport& report : scheduler_.take_reports()) {
    unkept_[report_key(report.shard, report.number)] = std::move(report.text);
    changed = true;
  }
  if (std::string image = scheduler_.image(); image != image_) {
    image_ = std::move(image);
    unkept_[kJobKey] = image_;
    changed = true;
  }
  if (!changed) return;
  if (!unkept_since_) unkept_since_ = now_;
  epochs_[++changes_] = scheduler_.map().epoch;
}

// Whether the store is away or slow, or some member has yet to say what it was told.
bool KeptScheduler::keeps_waiting() const {
  if (!awaited_.empty()) return true;
  return unkept_since_ && now_ - *unkept_since_ >= limits::kRetryFirst;
}

void KeptScheduler::on_frame(Instant now, NodeId from, Frame frame, Transport& out) {
  now_ = now;
  const auto told = wire::decode_state_mark(frame.second);
  if (told && told->lead != 0 && store_ != nullptr) {
    hear_mark(from, *told);
  } else if (frame.head.op == Op::kHeartbeat) {
    awaited_.erase(from);  // It has been told nothing by any state.
  }
  turn(out, [&](Transport& gate) { scheduler_.on_frame(now, from, std::move(frame), gate); });
}

void KeptScheduler::on_time(Instant now, Transport& out) {
  now_ = now;
  if (scheduler_.next_deadline() > now) return;
  turn(out, [&](Transport& gate) { scheduler_.on_time(now, gate); });
}

void KeptScheduler::on_peer_lost(Instant now, NodeId peer, Transport& out) {
  now_ = now;
  turn(out, [&](Transport& gate) { scheduler_.on_peer_lost(now, peer, gate); });
}

// No member that lives was told anything last by these, once all have said what they were told, and the
// newest may be heard yet.
void KeptScheduler::forget_leads() {
  if (!awaited_.empty() || !scheduler_.started() || scheduler_.stopped()) return;
  std::set<std::uint32_t> needed;
  for (const auto& [node, told] : told_) needed.insert(told.lead);
  for (std::size_t older = 0; older + kLeadsKept < leads_before_.size(); ++older) {
    const std::uint32_t lead = leads_before_[older];
    if (needed.contains(lead) || write_.changes.size() >= kKeysAtOnce) continue;
    write_.changes.push_back({writes_key(lead), std::nullopt});
  }
}

Instant KeptScheduler::next_deadline() const {
  if (fenced_) return kNever;
  const bool write = !unkept_.empty() && !writing_;
  return write ? std::min(write_at_, scheduler_.next_deadline()) : scheduler_.next_deadline();
}

Computation* KeptScheduler::take_work() {
  if (unkept_.empty() || writing_ || fenced_ || now_ < write_at_) return nullptr;
  writing_ = true;
  write_.changes.clear();
  // The image last: of nothing that it knows reports are missing then.
  std::optional<std::string> image;
  if (auto job = unkept_.extract(kJobKey)) image = std::move(job.mapped());
  // Reports that have come meanwhile go into the next write.
  while (!unkept_.empty() && write_.changes.size() < kKeysAtOnce) {
    auto first = unkept_.extract(unkept_.begin());
    write_.changes.push_back({first.key(), std::move(first.mapped())});
  }
  const bool all = unkept_.empty();
  if (image && all) write_.changes.push_back({kJobKey, std::move(*image)});
  if (image && !all) unkept_[kJobKey] = *std::move(image);
  write_.number = all ? changes_ : kept_;
  forget_leads();
  write_.changes.push_back({writes_key(number_), std::string()});  // How often, last of all.
  return &write_;
}

void KeptScheduler::lose_lead() {
  if (fenced_) return;
  THALWEG_REACHED(kLeadLost);
  fenced_ = Status(
      Code::kRefused,
      "another scheduler has taken this job up from its state, as this one did not renew its lead in "
      "time; the job goes on there, and saves its model. Start this one again as a standby, if at all");
  held_.clear();
}

void KeptScheduler::on_computed(Instant now, Transport& out) {
  writing_ = false;
  if (write_.done.status().code() == Code::kStale) {
    lose_lead();
    return;
  }
  if (write_.done.status().code() == Code::kModel) return fence(write_.done.status());
  if (!write_.done) {  // It may be there nevertheless. What has changed since goes before.
    trouble_ = write_.done.status();
    for (StateChange& change : write_.changes) {
      if (change.key.starts_with(kLeadsPrefix)) continue;
      unkept_.try_emplace(change.key, *std::move(change.value));
    }
    write_at_ = now + limits::kRetryFirst;
    return;
  }
  trouble_ = ok_status();
  write_at_ = Instant{0};
  for (const StateChange& change : write_.changes) {
    if (!change.value)
      std::erase_if(leads_before_, [&](auto lead) { return writes_key(lead) == change.key; });
  }
  kept_ = write_.number;
  writes_ = write_.tries;
  unkept_since_.reset();
  if (!settled()) unkept_since_ = now;
  while (!epochs_.empty() && epochs_.begin()->first <= kept_) {
    kept_epoch_ = epochs_.begin()->second;
    epochs_.erase(epochs_.begin());
  }
  let_out(out);
}

void KeptScheduler::let_out(Transport& out) {
  while (awaited_.empty() && !held_.empty() && held_.front().change <= kept_) {
    held_.front().frame.second = mark_for(held_.front().to);
    out.send(held_.front().to, std::move(held_.front().frame));
    held_.pop_front();
  }
}

}  // namespace thalweg
