// The bytes of entries and of range states: what is read back is written the same, and a host that takes such
// a state goes on.
#include "node/fuzz_input.h"
#include "server/table_host.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kShards = 3;

TableSpec spec_of(std::uint8_t which) {
  TableSpec spec;
  spec.name = "t";
  spec.dim = 1 + which / 2 % 2;
  spec.ranges = 4;
  if (which % 2 == 1) {
    spec.kind = TableSpec::Kind::kDense;
    spec.rows = 9;
  }
  return spec;
}

void adopt(RangeState state, const TableSpec& spec, Consistency consistency) {
  TableHost host(*make_table(spec, {}), consistency, kShards);
  const RangeSpan ranges = only(state.range);
  std::vector<RangeState> states;
  states.push_back(std::move(state));
  if (!host.adopt(std::move(states)).ok()) return;
  Frame frame;
  frame.head.ranges = ranges;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    frame.head.shard = ShardId{shard};
    frame.head.step = host.clock(frame.head.shard);
    const Status pushed = host.push(frame);
    THALWEG_CHECK(pushed.ok() || pushed.code() != Code::kOk, "a push has an answer");
  }
  const auto again = decode_range_state(encode(host.state_of(RangeId{ranges.begin})), spec, kShards);
  THALWEG_CHECK(again.has_value(), "what a host holds can be read back");
}

}  // namespace
}  // namespace thalweg

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thalweg;
  FuzzInput in(data, size);
  const std::uint8_t which = in.byte();
  const TableSpec spec = spec_of(which);
  if (which / 4 % 2 == 0) {
    const Bytes first = in.raw(in.take<std::uint16_t>());
    const EntrySegments segments{first, in.raw(size)};
    const auto entry = decode_log_entry(segments, spec, kShards);
    THALWEG_CHECK(!entry || encode(*entry) == segments, "an entry has one form");
    return 0;
  }
  const Bytes bytes = in.raw(size);
  const auto copy = decode_copy_state(bytes, spec, kShards);
  THALWEG_CHECK(!copy || encode(*copy).text() == bytes.text(), "a copy has one form");
  auto state = decode_range_state(bytes, spec, kShards);
  THALWEG_CHECK(!state || encode(*state).text() == bytes.text(), "a state has one form");
  constexpr Consistency kModes[] = {Consistency::sync(), Consistency::async(), Consistency::softsync(1),
                                    Consistency::softsync(2), Consistency::backup(1)};
  if (state) adopt(*std::move(state), spec, kModes[which / 8 % 5]);
  return 0;
}
