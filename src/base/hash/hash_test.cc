#include "base/hash/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace thalweg {
namespace {

std::vector<std::byte> text_of(std::size_t bytes) {
  std::vector<std::byte> text(bytes);
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<std::byte>(i * 7 + i / 256);
  return text;
}

TEST(Hash, OfPiecesIsThatOfAll) {
  const std::vector<std::byte> text = text_of(100000);
  StreamHash all, pieces;
  all.add(text);
  for (std::size_t begin = 0; begin < text.size(); begin += 777)
    pieces.add(std::span(text).subspan(begin, std::min<std::size_t>(777, text.size() - begin)));
  EXPECT_EQ(pieces.text(), all.text());
  EXPECT_EQ(StreamHash().text(), "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing.
}

#ifdef __x86_64__
constexpr std::uint64_t kUpperParts = (1u << 2) | (1u << 6);  // Of registers of 256 and of 512 bits.

__attribute__((target("xsave"))) std::uint64_t upper_parts_in_use() { return _xgetbv(1) & kUpperParts; }

__attribute__((target("avx"))) void free_upper_parts() { _mm256_zeroupper(); }

// Whether the processor says which parts of its registers are in use, and that those are not which were
// freed.
bool tells_use() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kSavedBySystem = 1u << 27, kTellsUse = 1u << 2;
  if (!__builtin_cpu_supports("avx") || __get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSavedBySystem) == 0)
    return false;
  if (__get_cpuid_count(13, 1, &a, &b, &c, &d) == 0 || (a & kTellsUse) == 0) return false;
  free_upper_parts();
  return upper_parts_in_use() == 0;
}

TEST(Hash, LeavesTheUpperHalvesOfVectorsFree) {
  if (!tells_use()) return;
  for (const std::size_t bytes : {8, 240, 241, 4096, 1 << 20}) {
    const std::vector<std::byte> text = text_of(bytes);
    EXPECT_NE(hash64(text.data(), text.size()), 0u);
    EXPECT_EQ(upper_parts_in_use(), 0u) << bytes;
    StreamHash stream;
    stream.add(text);
    EXPECT_EQ(upper_parts_in_use(), 0u) << bytes;
    const std::string name = stream.text();
    EXPECT_EQ(upper_parts_in_use(), 0u) << name;
  }
}
#endif

}  // namespace
}  // namespace thalweg
