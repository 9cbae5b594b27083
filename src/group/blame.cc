// Grammar, all integers little-endian:
//   message := 1:u8 question:u64                                  What are you doing?
//            | 2:u8 question:u64 kind:u8 waits_for:u32 text       This.
//            | 3:u8 guilty:u32 code:u8 text                       That rank is to blame.
//            | 4:u8                                               Goodbye.
//            | 6:u8                                               The group has formed anew, without you.
// 5 is another's: net/group/call_board.cc.
#include "group/blame.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/limits.h"
#include "base/planted.h"

namespace thalweg {
namespace {

enum class Kind : std::uint8_t { kAsk = 1, kAnswer = 2, kVerdict = 3, kGoodbye = 4, kLeftOut = 6 };

std::string name(std::uint32_t rank) { return fmt::format("rank {}", rank); }

std::string_view cut(const std::string& text) {
  return std::string_view(text).substr(0, limits::kTextOfStatusMax);
}

Bytes encode(const Verdict& verdict) {
  Writer out;
  out.put(Kind::kVerdict)
      .put(verdict.guilty)
      .put(verdict.status.code())
      .put_text(cut(verdict.status.message()));
  return out.take();
}

}  // namespace

Blame::Blame(std::uint32_t rank, std::uint32_t ranks, Duration patience)
    : rank_(rank), ranks_(ranks), patience_(patience), left_(ranks), lost_(ranks) {}

void Blame::accuse(Instant now, Doing doing) {
  if (verdict_ || asked_) return;
  own_ = std::move(doing);
  again_ = pauses_ = false;
  chain_.clear();
  ask(now, own_.waits_for);
}

void Blame::give_up(Verdict why) { judge(std::move(why)); }

void Blame::leave() {
  Writer out;
  const Bytes goodbye = out.put(Kind::kGoodbye).take();
  for (std::uint32_t peer = 0; peer < ranks_; ++peer) send(peer, goodbye);
}

void Blame::leave_out(std::uint32_t peer) {
  if (THALWEG_BUG(kLeftOutUnsaid)) return;
  Writer out;
  send(peer, out.put(Kind::kLeftOut).take());
}

void Blame::send(std::uint32_t to, Bytes message) {
  if (to != rank_ && !lost_[to]) outgoing_.push_back({to, std::move(message)});
}

void Blame::ask(Instant now, std::uint32_t suspect) {
  asked_ = true;
  suspect_ = suspect;
  answer_due_ = now + patience_;
  if (left_[suspect]) {
    judge({suspect, {Code::kPeerLost, name(suspect) + " has left the group"}});
    return;
  }
  Writer out;
  send(suspect, out.put(Kind::kAsk).put(++question_).take());
}

void Blame::on_time(Instant now) {
  if (!asked_ || now < answer_due_) return;
  if (pauses_) {
    pauses_ = false;
    ask(now, own_.waits_for);
    return;
  }
  if (THALWEG_BUG(kSilenceExcused)) {
    asked_ = false;
    return;
  }
  judge(
      {suspect_, {Code::kTimeout, name(suspect_) + " does not answer: it is stopped, or its machine hangs"}});
}

// The suspect has said what it is doing.
void Blame::follow(Instant now, const Doing& doing) {
  chain_.emplace_back(suspect_, doing.text);
  const auto is_next = [&doing](const auto& link) { return link.first == doing.waits_for; };
  if (doing.kind == Doing::Kind::kOutside) {
    conclude(now, {suspect_, {Code::kTimeout, name(suspect_) + " is not in an operation; " + doing.text}});
  } else if (doing.kind != Doing::Kind::kWaiting || doing.waits_for >= ranks_) {
    conclude(now, {suspect_, {Code::kTimeout, name(suspect_) + " waits for nobody; " + doing.text}});
  } else if (doing.waits_for == rank_ || std::any_of(chain_.begin(), chain_.end(), is_next)) {
    conclude(now, circle_from(doing.waits_for));
  } else {
    ask(now, doing.waits_for);
  }
}

// What ranks said at different times may not have been true at any one, so it must come out twice.
void Blame::conclude(Instant now, Verdict verdict) {
  if (again_) {
    judge(std::move(verdict));
    return;
  }
  again_ = pauses_ = true;
  chain_.clear();
  ++question_;
  answer_due_ = now + patience_ / 2;
}

// The chain has come back to `rank`, which is in it or is this one. All members blame the same of them.
Verdict Blame::circle_from(std::uint32_t rank) const {
  auto circle = chain_;
  if (rank == rank_) {
    circle.emplace_back(rank_, own_.text);
  } else {
    const auto is = [rank](const auto& link) { return link.first == rank; };
    circle.erase(circle.begin(), std::find_if(circle.begin(), circle.end(), is));
  }
  std::sort(circle.begin(), circle.end());
  std::string text = "these ranks wait for each other:";
  for (const auto& [member, doing] : circle) text += fmt::format(" rank {} ({})", member, doing);
  return {circle.front().first, {Code::kTimeout, std::move(text)}};
}

void Blame::judge(Verdict verdict, std::optional<std::uint32_t> heard_from) {
  asked_ = false;
  if (verdict_) return;
  verdict_ = std::move(verdict);
  const Bytes message = encode(*verdict_);
  for (std::uint32_t peer = 0; peer < ranks_; ++peer) {
    if (peer != heard_from) send(peer, message);
  }
}

void Blame::on_lost(std::uint32_t peer, const std::string& why) {
  if (lost_[peer]) return;
  lost_[peer] = true;
  if (left_[peer] && !THALWEG_BUG(kGoodbyeForgotten)) return;
  judge({peer, {Code::kPeerLost, name(peer) + " is lost: " + why}});
}

void Blame::on_message(Instant now, std::uint32_t from, std::span<const std::byte> message,
                       const Doing& doing) {
  Reader in(message);
  const auto kind = in.get<Kind>();
  if (kind == Kind::kAsk) {
    const auto question = in.get<std::uint64_t>();
    if (!in.done()) return;
    Writer out;
    out.put(Kind::kAnswer).put(question).put(doing.kind).put(doing.waits_for).put_text(cut(doing.text));
    send(from, out.take());
  } else if (kind == Kind::kAnswer) {
    const auto question = in.get<std::uint64_t>();
    Doing theirs;
    theirs.kind = in.get<Doing::Kind>();
    theirs.waits_for = in.get<std::uint32_t>();
    theirs.text = in.get_text(limits::kTextOfStatusMax);
    if (in.done() && asked_ && from == suspect_ && question == question_) follow(now, theirs);
  } else if (kind == Kind::kVerdict) {
    const auto guilty = in.get<std::uint32_t>();
    const auto code = in.get<Code>();
    std::string text = in.get_text(limits::kTextOfStatusMax);
    const bool sound = in.done() && guilty < ranks_ && code != Code::kOk && code <= Code::kAborted;
    if (sound) judge({guilty, {code, std::move(text)}}, from);
  } else if (kind == Kind::kGoodbye && in.done()) {
    left_[from] = true;
    if (asked_ && !pauses_ && from == suspect_) ask(now, from);
  } else if (kind == Kind::kLeftOut && in.done()) {
    left_out_ = true;
  }
}

}  // namespace thalweg
