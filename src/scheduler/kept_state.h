// What a scheduler keeps in a state store, by key, and how one takes the lead of a job: `term` counts those
// who have led it, and whoever has another one than is there can change nothing any more. `leads/NUMBER` is
// the own key of each of them, by a number that it has drawn: it counts its writes, is changed by each of
// them, and is what the next one's guard is about: none counts after a later one has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "node/state_store.h"
#include "scheduler/scheduler.h"

namespace thalweg {

inline constexpr char kTermKey[] = "term";
inline constexpr char kJobKey[] = "job";
inline constexpr char kBegunKey[] = "begun";
inline constexpr std::size_t kKeysAtOnce = 500;  // Of one change of a state, which a store may limit.
inline constexpr std::string_view kLeadsPrefix = "leads/";
std::string report_key(ShardId shard, ReportId number);
std::string writes_key(std::uint32_t lead);

struct EarlierLead {
  std::uint32_t number = 0;  // Drawn.
  std::uint32_t writes = 0;
  std::uint64_t revision = 0;  // Of the last of those.
};

struct KeptState {
  std::uint32_t before = 0;          // Those who have had the lead.
  StateGuard lead;                   // By which changes are made,
  StateGuard last_write;             // and the first of them also by this.
  std::uint32_t number = 0;          // Drawn.
  std::vector<EarlierLead> earlier;  // By revision.
  std::string image;                 // See Scheduler::image(); empty: the job has yet to begin.
  std::vector<KeptReport> reports;   // By shard and number.
  std::string begun;                 // When the job did, as note_begun() was told; empty: nobody knows.
};

// Ends the lead of whoever has had it, and reads what there is. `number`: not 0, and drawn anew each time.
// kRetry: another one was faster.
Result<KeptState> take_lead(StateStore& store, std::uint32_t number);

// Of a job that is about to begin, before anything else of it is kept.
Status note_begun(StateStore& store, KeptState& kept, std::string when);

// Forgets the job of `kept`, which is over, so that another one may begin in its place. On an error the job
// is still there, or its image at least, and whoever has the lead now must not go on with it.
Status forget_job(StateStore& store, KeptState& kept);

}  // namespace thalweg
