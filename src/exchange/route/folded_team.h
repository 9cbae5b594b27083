// A team of any size as one of a power of two: the first pairs of members act as one.
#pragma once

#include <bit>

#include "exchange/route/team.h"

namespace thalweg {

class FoldedTeam {
 public:
  explicit FoldedTeam(const Team& team)
      : team_(team), size_(std::bit_floor(team.size)), extra_(team.size - size_) {}

  std::uint32_t size() const { return size_; }
  std::uint32_t rounds() const { return static_cast<std::uint32_t>(std::countr_zero(size_)); }
  // Whether this rank leaves its work to the member before it, or does that of the one behind it.
  bool hands_in() const { return team_.me < 2 * extra_ && team_.me % 2 == 1; }
  bool takes_in() const { return team_.me < 2 * extra_ && team_.me % 2 == 0; }
  std::uint32_t partner() const { return team_.rank(team_.me ^ 1); }
  // Numbers in the folded team, and the first member behind each of them.
  std::uint32_t me() const { return team_.me < 2 * extra_ ? team_.me / 2 : team_.me - extra_; }
  std::uint32_t first_member(std::uint32_t number) const {
    return number < extra_ ? 2 * number : number + extra_;
  }
  std::uint32_t rank(std::uint32_t number) const { return team_.rank(first_member(number)); }

 private:
  Team team_;
  std::uint32_t size_;
  std::uint32_t extra_;
};

}  // namespace thalweg
