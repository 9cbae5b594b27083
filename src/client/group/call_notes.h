// What ranks note of the operations that they call, to be compared where one does not end.
#pragma once

#include "client/group/group_view.h"
#include "exchange/exchange.h"
#include "exchange/preface.h"
#include "net/group/call_board.h"

namespace thalweg {

CallNote note_of(const PrefaceOf& preface, const GroupView& view, const CallNote::Place& at);
CallNote note_of(const Exchange& exchange, const GroupView& view, const CallNote::Place& at);
// Ranks that are not at the same operation have differed in one before, which one of the two has noted: of an
// exchange that failed by that, the word that tells of the first.
void find_first_difference(Exchange& exchange, GroupView& view, CallNote::Place at);

}  // namespace thalweg
