#include "replication/copy_window.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>

namespace thalweg::replication {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPiece = limits::kCopyPieceBytes;

// One way with a line before it: each piece leaves behind those before it, and is acknowledged a round trip
// later.
struct Path {
  Duration round_trip;
  double bytes_per_second;
};

struct Came {
  double bytes_per_second = 0;
  Duration longest_line{};  // That a piece stood in, in the second half of the time.
};

Came copy_for(Duration time, Path path) {
  CopyWindow window(kPiece);
  const Duration sending{
      static_cast<std::int64_t>(1e9 * static_cast<double>(kPiece) / path.bytes_per_second)};
  struct Piece {
    Instant handed_over, acknowledged;
  };
  std::deque<Piece> under_way;
  Came came;
  std::uint64_t pieces = 0;
  Instant now, free_at;
  while (now < Instant{} + time) {
    for (; under_way.size() * kPiece < window.bytes(); free_at = free_at + sending) {
      free_at = std::max(free_at, now);
      if (now > Instant{} + time / 2) came.longest_line = std::max(came.longest_line, free_at - now);
      under_way.push_back({now, free_at + sending + path.round_trip});
    }
    now = under_way.front().acknowledged;
    window.on_acknowledged(now - under_way.front().handed_over, kPiece);
    under_way.pop_front();
    ++pieces;
  }
  came.bytes_per_second =
      static_cast<double>(pieces * kPiece) / std::chrono::duration<double>(now - Instant{}).count();
  return came;
}

TEST(CopyWindow, FillsALongPath) {
  const Came came = copy_for(2s, {10ms, 125e6});
  EXPECT_GT(came.bytes_per_second, 0.9 * 125e6);  // Two pieces a round trip would be 6.5e6.
  EXPECT_LT(came.longest_line, 2ms);
}

TEST(CopyWindow, LetsLittleWaitInLineWhereThePathIsShort) {
  const Came came = copy_for(2s, {50us, 1e9});
  EXPECT_GT(came.bytes_per_second, 0.9e9);
  EXPECT_LT(came.longest_line, 150us);
}

TEST(CopyWindow, IsNeverBelowItsLeastNorAboveItsMost) {
  CopyWindow window(kPiece);
  window.on_acknowledged(1ms, kPiece);
  for (int i = 0; i < 10'000; ++i) window.on_acknowledged(1s, kPiece);
  EXPECT_GE(window.bytes(), 2 * kPiece);
  EXPECT_LE(window.bytes(), 3 * kPiece);
  CopyWindow free(kPiece);
  for (int i = 0; i < 10'000; ++i) free.on_acknowledged(Duration{}, kPiece);
  EXPECT_EQ(free.bytes(), limits::kCopyPiecesInFlightMost * kPiece);
}

}  // namespace
}  // namespace thalweg::replication
