#include "net/tcp/known_keys.h"

#include <fmt/format.h>

#include <cstring>

#include "base/hash/hash.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kReferenceMagic = 0x4b4c4854;  // "THLK"
constexpr std::size_t kCheckAt = KnownKeys::kReferenceBytes - sizeof(std::uint32_t);

struct ReferenceFields {
  std::uint32_t magic = kReferenceMagic;
  std::uint32_t age = 0;
  std::uint32_t bytes = 0;
  std::uint32_t check = 0;
};
static_assert(sizeof(ReferenceFields) == KnownKeys::kReferenceBytes);

std::uint32_t check_of(const ReferenceFields& fields) {
  return static_cast<std::uint32_t>(hash64(&fields, kCheckAt));
}

Status reference_refused(std::string why) { return {Code::kRefused, "frame refused: " + std::move(why)}; }

}  // namespace

void KnownKeys::on_frame(const Frame& frame) {
  const std::size_t size = frame.first.size();
  // A push's segment would keep its values in memory as well.
  if (frame.head.op != Op::kPull || size < kSegmentBytesMin || size > kBytesMax) return;
  kept_.push_front(frame.first);
  bytes_ += size;
  while (kept_.size() > kCountMax || bytes_ > kBytesMax) {
    bytes_ -= kept_.back().size();
    kept_.pop_back();
  }
}

std::optional<KnownKeys::Reference> KnownKeys::find(const Bytes& segment) const {
  if (segment.size() < kSegmentBytesMin) return std::nullopt;
  for (std::size_t age = 0; age < kept_.size(); ++age) {
    const std::span<const std::byte> known = kept_[age].span();
    if (known.data() != segment.span().data() || known.size() != segment.size()) continue;
    ReferenceFields fields;
    fields.age = static_cast<std::uint32_t>(age);
    fields.bytes = static_cast<std::uint32_t>(segment.size());
    fields.check = check_of(fields);
    Reference reference;
    std::memcpy(reference.data(), &fields, sizeof fields);
    return reference;
  }
  return std::nullopt;
}

bool KnownKeys::begins(std::span<const std::byte> bytes) {
  std::uint32_t magic = 0;
  if (bytes.size() < sizeof magic) return false;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic == kReferenceMagic;
}

Result<Bytes> KnownKeys::named(std::span<const std::byte> reference) const {
  ReferenceFields fields;
  std::memcpy(&fields, reference.data(), sizeof fields);
  if (fields.magic != kReferenceMagic || fields.check != check_of(fields))
    return reference_refused("checksum of the keys it names does not match; it was damaged on its way");
  if (fields.age >= kept_.size() || kept_[fields.age].size() != fields.bytes) {
    return reference_refused(fmt::format("names keys of {} bytes {} pulls ago, of which {} are known here",
                                         fields.bytes, fields.age, kept_.size()));
  }
  return kept_[fields.age];
}

}  // namespace thalweg
