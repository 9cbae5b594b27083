#include "base/hash/hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
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
// Which parts of its registers the processor has in use; nothing where it does not say.
__attribute__((target("xsave"))) std::uint64_t registers_in_use() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kOsHasSaved = 1u << 27, kTellsUse = 1u << 2;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsHasSaved) == 0) return 0;
  if (__get_cpuid_count(13, 1, &a, &b, &c, &d) == 0 || (a & kTellsUse) == 0) return 0;
  return _xgetbv(1);
}

TEST(Hash, LeavesTheUpperHalvesOfVectorsFree) {
  constexpr std::uint64_t kUpperHalves = 1u << 2, kUpperQuarters = 1u << 6;
  for (const std::size_t bytes : {8, 240, 241, 4096, 1 << 20}) {
    const std::vector<std::byte> text = text_of(bytes);
    EXPECT_NE(hash64(text.data(), text.size()), 0u);
    EXPECT_EQ(registers_in_use() & (kUpperHalves | kUpperQuarters), 0u) << bytes;
    StreamHash stream;
    stream.add(text);
    EXPECT_EQ(registers_in_use() & (kUpperHalves | kUpperQuarters), 0u) << bytes;
    const std::string name = stream.text();
    EXPECT_EQ(registers_in_use() & (kUpperHalves | kUpperQuarters), 0u) << name;
  }
}
#endif

}  // namespace
}  // namespace thalweg
