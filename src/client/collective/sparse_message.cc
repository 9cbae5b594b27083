#include "client/collective/sparse_message.h"

#include <bit>
#include <cstring>

namespace thalweg {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

void add_keys_of(std::uint64_t bits, std::uint64_t base, std::vector<std::uint64_t>& keys) {
  for (; bits != 0; bits &= bits - 1)
    keys.push_back(base + static_cast<std::uint64_t>(std::countr_zero(bits)));
}

}  // namespace

SparseSize SparseSize::of(std::span<const std::uint64_t> keys) {
  return keys.empty() ? SparseSize{} : SparseSize{keys.size(), keys.front(), keys.back()};
}

void SparseSize::write(std::uint64_t* words) const {
  words[0] = count;
  words[1] = first;
  words[2] = last;
}

bool SparseSize::possible() const {
  return count == 0 ? first == 0 && last == 0 : first <= last && count - 1 <= last - first;
}

void write_sparse(std::span<const std::uint64_t> keys, std::span<const float> rows, std::size_t dim,
                  std::byte* to) {
  const SparseSize size = SparseSize::of(keys);
  const std::size_t key_bytes = size.key_words() * kWordBytes;
  if (size.as_bitmap()) {
    std::memset(to, 0, key_bytes);
    auto* const bits = static_cast<std::uint64_t*>(static_cast<void*>(to));
    for (const std::uint64_t key : keys)
      bits[(key - size.first) / 64] |= std::uint64_t{1} << (key - size.first) % 64;
  } else if (!keys.empty()) {
    std::memcpy(to, keys.data(), key_bytes);
  }
  const std::size_t floats = keys.size() * dim;
  if (floats > 0) std::memcpy(to + key_bytes, rows.data(), floats * sizeof(float));
  if (floats % 2 == 1) std::memset(to + key_bytes + floats * sizeof(float), 0, sizeof(float));
}

Result<SparseView> read_sparse(const SparseSize& size, std::size_t dim, const std::byte* message,
                               std::vector<std::uint64_t>& keys) {
  if (size.count == 0) return SparseView{};
  const auto* const words = static_cast<const std::uint64_t*>(static_cast<const void*>(message));
  SparseView view{{words, size.count}, {}};
  if (size.as_bitmap()) {
    std::uint64_t count = 0;
    for (std::uint64_t w = 0; w < size.bitmap_words(); ++w)
      count += static_cast<std::uint64_t>(std::popcount(words[w]));
    if (count != size.count)
      return Status(Code::kRefused, "its bitmap has another number of keys than it said");
    keys.clear();
    keys.reserve(size.count);
    for (std::uint64_t w = 0; w < size.bitmap_words(); ++w) add_keys_of(words[w], size.first + w * 64, keys);
    view.keys = keys;
  }
  bool ascends = view.keys.front() == size.first && view.keys.back() == size.last;
  for (std::size_t i = 1; i < view.keys.size(); ++i) ascends = ascends && view.keys[i - 1] < view.keys[i];
  if (!ascends)
    return Status(Code::kRefused, "its keys do not ascend from the first to the last that it said");
  const void* const rows = message + size.key_words() * kWordBytes;
  view.rows = {static_cast<const float*>(rows), size.count * dim};
  return view;
}

}  // namespace thalweg
