// One rank of a simulated group: meets the others, works through operations, and forms the group anew when
// one fails, by the product's own rules. Its driver here is what sockets and threads are there.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exchange/checked_payload.h"
#include "exchange/ending.h"
#include "group/control.h"
#include "group/rendezvous.h"
#include "sim/group/group_streams.h"
#include "sim/group/group_watch.h"
#include "sim/group/group_world.h"

namespace thalweg::sim {

// One group that has formed: who is in it, by rank.
struct GroupTable {
  std::uint64_t id = 0;
  std::vector<std::uint32_t> processes;
};

class GroupRank final : public GroupCarrier {
 public:
  using All = std::vector<std::unique_ptr<GroupRank>>;
  GroupRank(GroupWorld& world, GroupWatch& watch, const All& all, std::uint32_t process);

  GroupRank(const GroupRank&) = delete;
  ~GroupRank() override;

  bool over() const { return phase_ == Phase::kOver; }

 private:
  enum class Phase : std::uint8_t { kMeeting, kConnecting, kWorking, kOver };
  struct Membership;
  struct Work;
  class News;
  struct Visitor {
    std::uint32_t process = 0;
    std::uint64_t call = 0;
    Applicant applicant;
  };

  // Carrier, for the present group.
  void carry(std::uint32_t from, thalweg::Link to, std::vector<std::byte> bytes) override;
  void made_room(std::uint32_t by, thalweg::Link from) override;

  void turn();
  void advance();
  void speak(Membership& group);
  void on_lost(std::uint32_t process, bool dead);
  void arm();
  bool late(Instant since, Duration allowed) const;

  void meet(Rendezvous rendezvous);
  bool advance_meeting();
  void learn();
  void admit_visitors();
  void call_leader();
  void on_answer(std::uint64_t call, const Status& refusal, const GroupTable& table);
  void answer(const Visitor& visitor, const Status& refusal, const GroupTable& table);
  void form();
  void join(const GroupTable& table);
  void on_greeting(std::uint64_t group, std::uint32_t from);
  bool advance_connecting();

  bool advance_work();
  void begin_work();
  bool advance_operation();
  void end_operation(const Status& how);
  void form_anew();
  void finish(const Status& how);

  std::uint32_t process_of(std::uint32_t rank) const;
  Membership* membership(std::uint64_t group);

  GroupWorld& world_;
  GroupWatch& watch_;
  const All& all_;
  const std::uint32_t process_;
  Random random_;
  Phase phase_ = Phase::kMeeting;
  std::vector<std::unique_ptr<Membership>> groups_;  // The present one last.

  std::optional<Rendezvous> rendezvous_;
  Instant since_{};           // Of the meeting.
  Duration paused_before_{};  // When that or the operation's wait began.
  std::deque<Visitor> visitors_;
  std::vector<std::pair<Rendezvous::Guest, Visitor>> guests_;
  Rendezvous::Guest next_guest_ = 0;
  Instant last_came_{};
  std::uint64_t call_ = 0;
  bool calling_ = false;
  std::uint32_t called_ = 0;      // The process.
  std::set<std::uint32_t> dead_;  // Processes, as far as is known here.

  std::vector<std::pair<std::uint64_t, std::uint32_t>> greetings_;  // Of groups that are not known yet.

  std::unique_ptr<Work> work_;
  std::uint32_t number_ = 0;  // Of operations in this group.
  Instant thinks_until_{};
};

}  // namespace thalweg::sim
