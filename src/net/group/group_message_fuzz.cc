// Arbitrary bytes where ranks expect each other: they are refused, or mean what encoding them again gives.
#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "group/blame.h"
#include "net/group/call_board.h"
#include "net/group/group_message.h"

namespace {

using namespace thalweg;

void read_opening(std::span<const std::byte> bytes) {
  if (bytes.size() < Opening::kBytes) return;
  const auto head = bytes.first(Opening::kBytes);
  if (const auto opening = decode_opening(head)) {
    const Bytes again = encode_opening(*opening);
    THALWEG_CHECK(std::ranges::equal(again.span(), head), "an opening has one form");
  }
}

void read_member(std::span<const std::byte> bytes) {
  if (const auto member = decode_member(bytes)) {
    const Bytes again = encode_member(*member);
    THALWEG_CHECK(std::ranges::equal(again.span(), bytes), "a member has one form");
  }
}

void read_answer(std::span<const std::byte> bytes) {
  if (bytes.size() < kAnswerHeadBytes) return;
  const auto head = decode_answer_head(bytes.first(kAnswerHeadBytes));
  if (!head || head->body_bytes > bytes.size() - kAnswerHeadBytes) return;
  const auto whole = bytes.first(kAnswerHeadBytes + head->body_bytes);
  const auto table = decode_answer(*head, whole.subspan(kAnswerHeadBytes));
  if (!table) return;
  const Bytes again = encode_table(*table);
  THALWEG_CHECK(std::ranges::equal(again.span(), whole), "a table has one form");
}

void hear(std::span<const std::byte> bytes) {
  Blame blame(0, 3, std::chrono::seconds(1));
  blame.accuse({}, {Doing::Kind::kWaiting, 1, "all-reduce #1"});
  blame.on_message({}, 1, bytes, {});
  blame.on_time({2'000'000'000});
  (void)blame.take_outgoing();
  if (const auto note = decode_note(1, bytes)) {
    const Bytes again = encode_note(*note);
    THALWEG_CHECK(std::ranges::equal(again.span(), bytes), "a note has one form");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data + 1, size - 1));
  switch (data[0] % 4) {
    case 0:
      read_opening(bytes);
      break;
    case 1:
      read_member(bytes);
      break;
    case 2:
      read_answer(bytes);
      break;
    default:
      hear(bytes);
  }
  return 0;
}
