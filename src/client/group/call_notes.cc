#include "client/group/call_notes.h"

#include <cstring>
#include <utility>

namespace thalweg {
namespace {

Status check_notes(const CallNote::Saying& one, const CallNote::Saying& other) {
  PrefaceOf first{one.rank, {}}, second{other.rank, {}};
  std::memcpy(&first.preface, one.bytes.data(), one.bytes.size());
  std::memcpy(&second.preface, other.bytes.data(), other.bytes.size());
  return check_prefaces(first, second);
}

}  // namespace

CallNote note_of(const PrefaceOf& preface, const GroupView& view, const CallNote::Place& at) {
  static_assert(sizeof(Preface) == CallNote::kBytes);
  CallNote note;
  note.place = at;
  note.saying.rank = view.fabric_rank(preface.rank);
  std::memcpy(note.saying.bytes.data(), &preface.preface, sizeof(Preface));
  note.check = &check_notes;
  return note;
}

CallNote note_of(const Exchange& exchange, const GroupView& view, const CallNote::Place& at) {
  return note_of(PrefaceOf{exchange.rank(), exchange.preface()}, view, at);
}

void find_first_difference(Exchange& exchange, GroupView& view, CallNote::Place at) {
  const auto& other = exchange.contradiction();
  CallBoard* calls = view.calls();
  if (!other || !calls || other->preface.group != view.id()) return;
  if (other->preface.sequence < at.sequence) {
    at.sequence = other->preface.sequence;
    if (Status why = calls->compare(note_of(*other, view, at)); !why.ok()) exchange.explain(std::move(why));
  } else if (other->preface.sequence > at.sequence) {
    if (auto found = calls->ask(view.fabric_rank(other->rank), note_of(exchange, view, at)))
      exchange.explain(std::move(found->status));
  }
}

}  // namespace thalweg
