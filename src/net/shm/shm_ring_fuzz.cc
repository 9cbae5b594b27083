// Both ends of a ring whose shared memory an arbitrary peer writes: whatever the positions say, nothing
// outside the ring is read or written, positions never run backwards, and a damaged ring stays silent.
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "net/shm/shm_ring.h"
#include "node/fuzz_input.h"

namespace {

using namespace thalweg;

constexpr std::size_t kCapacity = kShmRingBytesMin;

std::uint64_t position(FuzzInput& input, std::uint64_t near) {
  switch (input.byte() % 4) {
    case 0:
      return near + input.byte();
    case 1:
      return near + input.take<std::uint16_t>();
    case 2:
      return near - input.byte();
    default:
      return input.take<std::uint64_t>();
  }
}

void read_step(FuzzInput& input, ShmRingReader& reader, std::span<const std::byte> ring) {
  const std::uint64_t before = reader.consumed();
  const bool was_damaged = reader.damaged();
  const std::size_t want = input.take<std::uint16_t>();
  std::size_t moved = 0;
  if (input.byte() % 2 == 0) {
    const Piece piece = reader.peek(want);
    THALWEG_CHECK(piece.size <= want, "no more than wanted");
    THALWEG_CHECK(piece.size == 0 ||
                      (piece.data >= ring.data() && piece.data + piece.size <= ring.data() + ring.size()),
                  "pieces are in the ring");
    moved = piece.size > 0 ? input.byte() % (piece.size + 1) : 0;
    reader.consume(moved);
  } else {
    std::vector<std::byte> into(want);
    moved = reader.read(into.data(), want);
    THALWEG_CHECK(moved <= want, "no more than wanted");
  }
  THALWEG_CHECK(reader.consumed() - before >= moved, "what was taken is counted, gaps too");
  THALWEG_CHECK(!was_damaged || (moved == 0 && reader.damaged()), "damage is for good");
}

void write_step(FuzzInput& input, ShmRingWriter& writer) {
  const std::uint64_t before = writer.written();
  const bool was_damaged = writer.damaged();
  const std::vector<std::byte> first(input.take<std::uint16_t>()), second(input.byte());
  const Piece pieces[] = {{first.data(), first.size()}, {second.data(), second.size()}};
  const std::size_t moved = writer.write(pieces);
  THALWEG_CHECK(moved <= std::min(first.size() + second.size(), kCapacity), "no more than fits");
  THALWEG_CHECK(writer.written() == before + moved, "what was written is counted");
  THALWEG_CHECK(!was_damaged || (moved == 0 && writer.damaged()), "damage is for good");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const auto ring = std::make_unique<std::byte[]>(kCapacity);
  const std::span<std::byte> memory(ring.get(), kCapacity);
  ShmRingPositions positions;
  std::atomic<std::uint32_t> asleep{0};
  ShmDoorbell bell(asleep, -1);
  ShmRingReader reader(positions, memory.data(), kCapacity, bell);
  ShmRingPositions other;
  ShmRingWriter writer(other, memory.data(), kCapacity, bell);
  while (!input.empty()) {
    switch (input.byte() % 6) {
      case 0:
        positions.written = position(input, reader.consumed());
        break;
      case 5:
        positions.gaps[input.byte() % kShmGapsMax] = position(input, reader.consumed());
        break;
      case 1:
        other.consumed = position(input, writer.written());
        break;
      case 2:
        asleep = input.byte();
        break;
      case 3:
        read_step(input, reader, memory);
        break;
      default:
        write_step(input, writer);
        break;
    }
    if (reader.changed()) reader.forget_shortage();
    if (writer.changed()) writer.forget_shortage();
  }
  return 0;
}
