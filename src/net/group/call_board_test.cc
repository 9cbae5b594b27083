#include "net/group/call_board.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "net/in_process/in_process_fabric.h"

namespace thalweg {
namespace {

Status check_bytes(const CallNote::Saying& one, const CallNote::Saying& other) {
  if (one.bytes == other.bytes) return ok_status();
  return {Code::kRefused, "ranks " + std::to_string(one.rank) + " and " + std::to_string(other.rank)};
}

CallNote note_of(std::uint32_t rank, std::uint64_t sequence, std::byte what) {
  CallNote note;
  note.place = {7, sequence};
  note.saying.rank = rank;
  note.saying.bytes.fill(what);
  note.check = &check_bytes;
  return note;
}

TEST(CallNote, IsWhatWasWritten) {
  const CallNote note = note_of(3, 12, std::byte{9});
  const Bytes bytes = encode_note(note);
  const auto again = decode_note(3, bytes.span());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->place, note.place);
  EXPECT_EQ(again->saying.bytes, note.saying.bytes);
  EXPECT_FALSE(decode_note(3, bytes.span().first(bytes.size() - 1)));
  EXPECT_FALSE(decode_note(3, {}));
}

// What rank 0 shows to rank 1, which has noted `sequences` operations since, comes to this on both.
std::string found(const CallNote& shown, std::uint64_t sequences) {
  const auto fabrics = make_in_process_fabrics(2);
  for (std::uint64_t s = 0; s < sequences; ++s) fabrics[1]->calls()->note(note_of(1, s, std::byte{5}));
  fabrics[0]->calls()->show(1, shown);
  const auto here = fabrics[0]->calls()->found(), there = fabrics[1]->calls()->found();
  EXPECT_EQ(here.has_value(), there.has_value());
  if (!here) return "";
  EXPECT_EQ(here->guilty, there->guilty);
  EXPECT_TRUE(fabrics[0]->any_lost() && fabrics[1]->any_lost());
  EXPECT_FALSE(fabrics[0]->peer_status(here->guilty).ok());
  return here->status.message();
}

TEST(CallBoard, ComparesOperationsOfOnePlace) {
  EXPECT_EQ(found(note_of(0, 3, std::byte{5}), 10), "");
  EXPECT_EQ(found(note_of(0, 3, std::byte{6}), 10), "ranks 1 and 0");
  EXPECT_EQ(found(note_of(0, 10, std::byte{6}), 10), "");  // Not begun there.
  CallNote elsewhere = note_of(0, 3, std::byte{6});
  elsewhere.place.kind = 8;
  EXPECT_EQ(found(elsewhere, 10), "");
}

TEST(CallBoard, KeepsTheLastSixtyFour) {
  EXPECT_EQ(found(note_of(0, 36, std::byte{6}), 100), "ranks 1 and 0");
  EXPECT_EQ(found(note_of(0, 35, std::byte{6}), 100), "");
}

}  // namespace
}  // namespace thalweg
