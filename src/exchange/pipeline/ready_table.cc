#include "exchange/pipeline/ready_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg {
namespace {

constexpr std::size_t kRanksNamed = 16;

std::string name_ranks(const std::vector<std::uint32_t>& ranks) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min(ranks.size(), kRanksNamed));
  std::string text = fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s",
                                 fmt::join(ranks.begin(), ranks.begin() + shown, ", "));
  if (ranks.size() > kRanksNamed) text += fmt::format(" and {} others", ranks.size() - kRanksNamed);
  return text;
}

}  // namespace

ReadyTable::ReadyTable(std::uint32_t positions, std::uint32_t ranks)
    : ranks_(ranks),
      words_((ranks + 63) / 64),
      bits_(positions * words_),
      counts_(positions),
      since_(positions, kNever) {}

Status ReadyTable::announce(std::uint32_t rank, PositionRun run, Instant now,
                            std::vector<std::uint32_t>& complete) {
  if (run.first > counts_.size() || run.count > counts_.size() - run.first) {
    return {Code::kRefused, fmt::format("rank {} announces gradients [{}, {}) of {}", rank, run.first,
                                        std::uint64_t{run.first} + run.count, counts_.size())};
  }
  for (std::uint32_t position = run.first; position < run.end(); ++position) {
    if (announced(rank, position)) {
      return {Code::kRefused,
              fmt::format("rank {} announces the gradient at position {} twice", rank, position)};
    }
    if (++counts_[position] < ranks_) {
      bits_[position * words_ + rank / 64] |= std::uint64_t{1} << (rank % 64);
      if (since_[position] != kNever) continue;
      since_[position] = now;
      waiting_.push_back({position, now});
      continue;
    }
    std::fill_n(bits_.begin() + static_cast<std::ptrdiff_t>(position * words_), words_, std::uint64_t{0});
    counts_[position] = 0;
    since_[position] = kNever;
    complete.push_back(position);
  }
  return ok_status();
}

ReadyTable::Oldest ReadyTable::oldest() {
  while (!waiting_.empty() && since_[waiting_.front().position] != waiting_.front().since)
    waiting_.pop_front();
  return waiting_.empty() ? Oldest{} : waiting_.front();
}

std::string ReadyTable::who(std::uint32_t position) const {
  std::vector<std::uint32_t> have, lack;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank)
    (announced(rank, position) ? have : lack).push_back(rank);
  if (have.empty()) return "announced by no rank";
  return fmt::format("announced by {}, not by {}", name_ranks(have), name_ranks(lack));
}

}  // namespace thalweg
