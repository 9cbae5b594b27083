// How ranks that know one address meet: one rank leads and is called by the others; when all have come, or at
// the deadline where a group forms anew, it tells each who they are. No I/O, clock or thread of its own: who
// drives it calls, answers and sleeps as next() says.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "thalweg/status.h"

namespace thalweg {

// A rank that comes to a meeting, as it describes itself.
struct Applicant {
  std::uint32_t rank = 0;
  std::uint32_t from = 0;  // As its call says: the same.
  std::uint32_t size = 0;  // Of the group that it was started for.
  std::string group;
  bool over_ucx = false;
  std::array<std::uint64_t, 2> nonce{};  // Of the group that it was in before; zero at first.
  std::string name;                      // "rank 3 (process 4711 at 127.0.0.1:40001)", for messages.
};

// "ranks 3, 5 and 7 more".
std::string list_of_ranks(const std::vector<std::uint32_t>& ranks);

class Rendezvous {
 public:
  using Guest = std::uint64_t;  // As the driver numbers those who called.

  // All ranks come to rank 0, or nobody has a group.
  static Rendezvous first(Applicant self, Instant deadline) { return {std::move(self), false, deadline}; }
  // Those who remain come to the lowest of them, which goes on at the deadline with those who are there.
  static Rendezvous anew(Applicant self, Instant deadline) { return {std::move(self), true, deadline}; }

  // `rank` is lost, has left or was given up. It stays so.
  void set_out(std::uint32_t rank) { out_[rank] = true; }
  // The others are known to have formed the group anew without this rank.
  void set_left_out() { left_out_ = true; }

  enum class Next : std::uint8_t {
    kWait,  // Until due(), or something happens.
    kCall,  // Call leader(), then call_failed() unless it gives a table.
    kForm,  // Tell guests() and be the group.
    kFail,  // With failure().
  };
  Next next(Instant now);
  Instant due() const { return leads() ? deadline_ : calls_at_; }
  const Status& failure() const { return failure_; }

  std::uint32_t leader() const { return leader_; }
  bool leads() const { return leader_ == self_.rank; }
  // OK, or why the applicant does not belong here (kRefused). Precondition: leads().
  Status admit(Guest guest, const Applicant& applicant);
  void hung_up(Guest guest);
  // In the order of their ranks.
  std::vector<Guest> guests() const;
  // This rank's place among them.
  std::uint32_t place() const;
  std::vector<std::uint32_t> missing() const;

  // The call to the leader, `name`, gave no table. `others`: it has more addresses, so that one that cannot
  // be called at all is no reason to give up.
  void call_failed(Instant now, const std::string& name, const Status& why, bool others = false);
  // Whether such a failure of a call is not to be followed by another call.
  static bool is_final(const Status& why, bool others);
  // Whether the call under way is in vain.
  bool in_vain() const { return left_out_ || (anew_ && out_[leader_]); }

 private:
  struct Admitted {
    Guest guest = 0;
    std::uint32_t rank = 0;
    std::string name;
  };
  Rendezvous(Applicant self, bool anew, Instant deadline);
  Status check(const Applicant& applicant) const;
  Next fail(Code code, const std::string& why);

  const Applicant self_;
  const bool anew_;
  const Instant deadline_;
  std::vector<bool> out_;  // By rank.
  bool left_out_ = false;
  std::uint32_t leader_ = 0;
  std::vector<Admitted> guests_;
  Instant calls_at_{};
  Duration pause_;
  std::string leader_name_;
  Status last_call_;
  bool gives_up_ = false;  // Since the last call's failure is final.
  Status failure_;
};

}  // namespace thalweg
