#include "scheduler/kept_scheduler.h"

#include <algorithm>

#include "base/coverage/reached.h"
#include "base/limits.h"
#include "base/planted.h"

namespace thalweg {
namespace {

// What is held back may be forgotten: it is asked for again.
constexpr std::size_t kHeldMax = 4 * limits::kNodesMax;

}  // namespace

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
    const bool free = owner_.kept_ == owner_.changes_ || THALWEG_BUG(kAnnouncedUnkept);
    for (Held& one : said_) {
      const bool for_people = one.frame.head.op == Op::kStatusReply;  // Nobody acts upon it.
      if (for_people || (free && owner_.held_.empty())) {
        out_.send(one.to, std::move(one.frame));
        continue;
      }
      Frame alive;
      alive.head = one.frame.head;
      alive.head.op = Op::kHeartbeat;
      alive.head.map_epoch = owner_.kept_epoch_;
      alive.head.code = Code::kOk;
      const Op op = one.frame.head.op;
      const bool awaited = op == Op::kReportReply || op == Op::kBarrierReply || op == Op::kWaiting;
      const bool told = awaited && owner_.keeps_waiting();
      if (told) {  // Each time something else than before: whoever asks is not to give up.
        alive.head.op = Op::kWaiting;
        alive.first = encode(wire::Waiting{++owner_.waits_, {}});
      }
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

// Which write was the last that has counted. kStale: another one leads.
Status KeptScheduler::Write::look() {
  for (StateGuard guard : {lead_, last_}) {
    const auto view = store_->get(guard.key);
    if (!view) return {Code::kRetry, view.status().message()};
    const auto found = view->entries.find(guard.key);
    const std::uint64_t revision = found == view->entries.end() ? 0 : found->second.revision;
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
  done = store_->swap(guards, changes);
  in_doubt_ = !done;
  if (done) last_.revision = *done;
  // Another one leads, or the write before has counted meanwhile.
  if (done.status().code() == Code::kStale && look().code() != Code::kStale) {
    THALWEG_REACHED(kWriteCountedLate);
    done = Status(Code::kRetry, "a write before it has counted late");
  }
}

void KeptScheduler::turn(Transport& out, const std::function<void(Transport&)>& act) {
  if (fenced_) return;
  if (store_ == nullptr) return act(out);
  Gate gate(*this, out);
  act(gate);
  note_changes();
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

// Whether the store is away, or slow.
bool KeptScheduler::keeps_waiting() const {
  return unkept_since_ && now_ - *unkept_since_ >= limits::kRetryFirst;
}

void KeptScheduler::on_frame(Instant now, NodeId from, Frame frame, Transport& out) {
  now_ = now;
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
  while (!unkept_.empty() && write_.changes.size() < kKeysAtOnce) {
    auto first = unkept_.extract(unkept_.begin());
    write_.changes.push_back({first.key(), std::move(first.mapped())});
  }
  const bool all = unkept_.empty();
  if (image && all) write_.changes.push_back({kJobKey, std::move(*image)});
  if (image && !all) unkept_[kJobKey] = *std::move(image);
  write_.number = all ? changes_ : kept_;
  write_.changes.push_back({kWriteKey, std::to_string(write_.number)});
  return &write_;
}

void KeptScheduler::lose_lead() {
  if (fenced_) return;
  THALWEG_REACHED(kLeadLost);
  fenced_ = Status(Code::kAborted, "another scheduler has taken this job up from its state");
  held_.clear();
}

void KeptScheduler::on_computed(Instant now, Transport& out) {
  writing_ = false;
  if (write_.done.status().code() == Code::kStale) {
    lose_lead();
    return;
  }
  if (!write_.done) {  // It may be there nevertheless. What has changed since goes before.
    trouble_ = write_.done.status();
    for (StateChange& change : write_.changes) {
      if (change.key != kWriteKey) unkept_.try_emplace(change.key, *std::move(change.value));
    }
    write_at_ = now + limits::kRetryFirst;
    return;
  }
  trouble_ = ok_status();
  write_at_ = Instant{0};
  kept_ = write_.number;
  unkept_since_.reset();
  if (!settled()) unkept_since_ = now;
  while (!epochs_.empty() && epochs_.begin()->first <= kept_) {
    kept_epoch_ = epochs_.begin()->second;
    epochs_.erase(epochs_.begin());
  }
  let_out(out);
}

void KeptScheduler::let_out(Transport& out) {
  while (!held_.empty() && held_.front().change <= kept_) {
    out.send(held_.front().to, std::move(held_.front().frame));
    held_.pop_front();
  }
}

}  // namespace thalweg
