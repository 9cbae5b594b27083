#include "group/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/planted.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr Duration kCallAgainFirst = 10ms;
constexpr Duration kCallAgainMax = 250ms;

}  // namespace

std::string list_of_ranks(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kShown = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kShown); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  }
  return ranks.size() > kShown ? fmt::format("{} and {} more", text, ranks.size() - kShown) : text;
}

Rendezvous::Rendezvous(Applicant self, bool anew, Instant deadline)
    : self_(std::move(self)), anew_(anew), deadline_(deadline), out_(self_.size), pause_(kCallAgainFirst) {}

Rendezvous::Next Rendezvous::fail(Code code, const std::string& why) {
  failure_ = Status(code, why);
  return Next::kFail;
}

Rendezvous::Next Rendezvous::next(Instant now) {
  if (left_out_) {
    return fail(Code::kRefused,
                fmt::format("the group has been formed anew without rank {}, which came late", self_.rank));
  }
  while (anew_ && leader_ != self_.rank && out_[leader_] && !THALWEG_BUG(kDeadLeaderCalled)) {
    ++leader_;
    gives_up_ = false;
    calls_at_ = now;
    pause_ = kCallAgainFirst;
  }
  if (leads()) {
    const bool late = now >= deadline_;
    if (missing().empty() || (anew_ && late && !THALWEG_BUG(kLateAwaited))) return Next::kForm;
    if (!late || anew_) return Next::kWait;
    return fail(Code::kTimeout, fmt::format("group '{}' of {} ranks did not form in time: {} did not come",
                                            self_.group, self_.size, list_of_ranks(missing())));
  }
  if (gives_up_) {
    const std::string why = last_call_.code() == Code::kIo
                                ? last_call_.message()
                                : leader_name_ + " answers: " + last_call_.message();
    return fail(last_call_.code(),
                fmt::format("rank {} cannot join group '{}': {}", self_.rank, self_.group, why));
  }
  if (!last_call_.ok() && calls_at_ >= deadline_) {
    return fail(Code::kTimeout,
                fmt::format("rank {} cannot join group '{}': {} could not be reached in time: {}", self_.rank,
                            self_.group, leader_name_, last_call_.message()));
  }
  return now >= calls_at_ ? Next::kCall : Next::kWait;
}

void Rendezvous::call_failed(Instant now, const std::string& name, const Status& why, bool others) {
  leader_name_ = name;
  last_call_ = why;
  gives_up_ = is_final(why, others);
  calls_at_ = now + pause_;
  pause_ = std::min(pause_ * 2, kCallAgainMax);
}

bool Rendezvous::is_final(const Status& why, bool others) {
  return why.code() != Code::kRetry && why.code() != Code::kPeerLost && !(why.code() == Code::kIo && others);
}

Status Rendezvous::admit(Guest guest, const Applicant& applicant) {
  Status fits = check(applicant);
  if (fits.ok()) guests_.push_back({guest, applicant.rank, applicant.name});
  return fits;
}

Status Rendezvous::check(const Applicant& applicant) const {
  const auto refused = [](std::string why) { return Status(Code::kRefused, std::move(why)); };
  if (applicant.group != self_.group) {
    return refused(
        fmt::format("it wants to join group '{}', this is group '{}'", applicant.group, self_.group));
  }
  if (applicant.nonce != self_.nonce) return refused("the group has been formed anew since");
  if (applicant.size != self_.size) {
    return refused(fmt::format("it was started for a group of {} ranks, rank {} for one of {}",
                               applicant.size, self_.rank, self_.size));
  }
  if (applicant.over_ucx != self_.over_ucx) {
    return refused(fmt::format("it was started {} UCX, rank {} {} it",
                               applicant.over_ucx ? "over" : "without", self_.rank,
                               self_.over_ucx ? "over" : "without"));
  }
  if (applicant.rank >= applicant.size || applicant.from != applicant.rank) {
    return refused(fmt::format("rank {} is not one of {}", applicant.rank, applicant.size));
  }
  if (applicant.rank == self_.rank) return refused("there already is " + self_.name);
  for (const Admitted& other : guests_) {
    if (other.rank == applicant.rank) return refused("there already is " + other.name);
  }
  if (applicant.rank < self_.rank || (anew_ && out_[applicant.rank]))
    return refused(fmt::format("rank {} has been given up", applicant.rank));
  return {};
}

void Rendezvous::hung_up(Guest guest) {
  std::erase_if(guests_, [guest](const Admitted& one) { return one.guest == guest; });
}

std::vector<Rendezvous::Guest> Rendezvous::guests() const {
  std::vector<Admitted> all = guests_;
  if (!THALWEG_BUG(kGuestsByArrival)) {
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  }
  std::vector<Guest> numbers;
  for (const Admitted& one : all) numbers.push_back(one.guest);
  return numbers;
}

std::uint32_t Rendezvous::place() const {
  return static_cast<std::uint32_t>(std::count_if(
      guests_.begin(), guests_.end(), [this](const Admitted& one) { return one.rank < self_.rank; }));
}

std::vector<std::uint32_t> Rendezvous::missing() const {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = leader_ + 1; rank < self_.size; ++rank) {
    const auto is = [rank](const Admitted& one) { return one.rank == rank; };
    const bool out = out_[rank] && !THALWEG_BUG(kGuiltyExpected);
    if (!out && std::none_of(guests_.begin(), guests_.end(), is)) missing.push_back(rank);
  }
  return missing;
}

}  // namespace thalweg
