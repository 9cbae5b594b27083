// Arbitrary bytes as each control message: refused, or exactly what encoding the result gives again.
#include <algorithm>

#include "base/check.h"
#include "wire/drain.h"
#include "wire/job_status.h"
#include "wire/messages.h"

namespace thalweg::wire {
namespace {

template <class T>
void expect_canonical(const std::optional<T>& message, const Bytes& bytes) {
  if (!message) return;
  const Bytes again = encode(*message);
  THALWEG_CHECK(std::ranges::equal(again.span(), bytes.span()), "a message has one encoding");
}

}  // namespace
}  // namespace thalweg::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thalweg;
  const Bytes bytes = Bytes::of(std::vector<std::uint8_t>(data, data + size));
  wire::expect_canonical(wire::decode_join(bytes), bytes);
  wire::expect_canonical(wire::decode_welcome(bytes), bytes);
  wire::expect_canonical(wire::decode_map(bytes), bytes);
  wire::expect_canonical(wire::decode_waiting(bytes), bytes);
  wire::expect_canonical(wire::decode_marks(bytes), bytes);
  wire::expect_canonical(wire::decode_joined(bytes), bytes);
  wire::expect_canonical(wire::decode_heartbeat(bytes), bytes);
  wire::expect_canonical(wire::decode_job_status(bytes), bytes);
  wire::expect_canonical(wire::decode_drain(bytes), bytes);
  wire::expect_canonical(wire::decode_server_drain(bytes), bytes);
  wire::expect_canonical(wire::decode_checkpoint_order(bytes), bytes);
  wire::expect_canonical(wire::decode_checkpoint_report(bytes), bytes);
  return 0;
}
