#include "table/init_value.h"

#include <algorithm>
#include <cstdint>

#include "base/random.h"

#ifndef THALWEG_TABLE_COLUMN_STEP_
#define THALWEG_TABLE_COLUMN_STEP_
namespace thalweg::kernels {
constexpr std::uint64_t kColumnStep = 0x632be59bd9b4e019ULL;  // Between the streams of a key's columns.
}  // namespace thalweg::kernels
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "table/init_value.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once per instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::uint64_t kWordsOfNormal = 3;

inline std::uint32_t sum_of_quarters(std::uint64_t bits) {
  std::uint32_t sum = 0;
  for (int shift = 0; shift < 64; shift += 16) sum += static_cast<std::uint32_t>((bits >> shift) & 0xffff);
  return sum;
}

// The sum of twelve 16-bit uniforms.
inline std::uint32_t sum_of_column(std::uint64_t of_key, std::uint64_t column) {
  const std::uint64_t stream = splitmix(of_key + kColumnStep * (column + 1));
  std::uint32_t sum = 0;
  for (std::uint64_t word = 0; word < kWordsOfNormal; ++word) sum += sum_of_quarters(splitmix(stream + word));
  return sum;
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL  // Others have no product of 64 bits.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V splitmix_lanes(D d, V x) {
  x = hn::Add(x, hn::Set(d, 0x9e3779b97f4a7c15ULL));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<30>(x)), hn::Set(d, 0xbf58476d1ce4e5b9ULL));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<27>(x)), hn::Set(d, 0x94d049bb133111ebULL));
  return hn::Xor(x, hn::ShiftRight<31>(x));
}

inline std::size_t sum_columns(std::uint64_t of_key, std::uint32_t* sums, std::size_t count) {
  const hn::CappedTag<std::uint64_t, 8> d;
  const hn::Rebind<std::uint32_t, decltype(d)> d32;
  const auto quarters = hn::Set(d, 0x0000ffff0000ffffULL);
  const auto low = hn::Set(d, 0xffffffffULL);
  std::size_t column = 0;
  for (; column + hn::Lanes(d) <= count; column += hn::Lanes(d)) {
    const auto numbers = hn::Iota(d, static_cast<std::uint64_t>(column) + 1);
    const auto stream =
        splitmix_lanes(d, hn::Add(hn::Set(d, of_key), hn::Mul(numbers, hn::Set(d, kColumnStep))));
    auto pairs = hn::Zero(d);
    for (std::uint64_t word = 0; word < kWordsOfNormal; ++word) {
      const auto bits = splitmix_lanes(d, hn::Add(stream, hn::Set(d, word)));
      pairs = hn::Add(pairs, hn::And(bits, quarters));
      pairs = hn::Add(pairs, hn::And(hn::ShiftRight<16>(bits), quarters));
    }
    const auto both = hn::Add(hn::And(pairs, low), hn::ShiftRight<32>(pairs));
    hn::StoreU(hn::TruncateTo(d32, both), d32, sums + column);
  }
  return column;
}
#else
inline std::size_t sum_columns(std::uint64_t, std::uint32_t*, std::size_t) { return 0; }
#endif

void FillNormal(std::uint64_t of_key, float scale, float* row, std::size_t count) {
  constexpr std::size_t kAtOnce = 64;
  std::uint32_t sums[kAtOnce];
  for (std::size_t done = 0; done < count; done += kAtOnce) {
    const std::size_t now = std::min(kAtOnce, count - done);
    const std::uint64_t from = of_key + kColumnStep * done;
    for (std::size_t c = sum_columns(from, sums, now); c < now; ++c) sums[c] = sum_of_column(from, c);
    for (std::size_t c = 0; c < now; ++c) {
      const auto centred = static_cast<std::int32_t>(sums[c]) - 6 * 65536;
      row[done + c] = scale * ((static_cast<float>(centred) + 6.0f) * 0x1.0p-16f);
    }
  }
}

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thalweg {
namespace kernels {
HWY_EXPORT(FillNormal);
void fill_normal(std::uint64_t of_key, float scale, float* row, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(FillNormal)(of_key, scale, row, count);
}
}  // namespace kernels

namespace {

float uniform_signed(std::uint64_t bits) {
  const auto signed24 = static_cast<std::int32_t>(bits >> 40) - (1 << 23);
  return static_cast<float>(signed24) * 0x1.0p-23f;
}

}  // namespace

void fill_initial(const InitSpec& init, Key key, std::span<float> row) {
  if (init.kind == InitSpec::Kind::kZero || init.kind == InitSpec::Kind::kConstant) {
    std::fill(row.begin(), row.end(), init.kind == InitSpec::Kind::kZero ? 0.0f : init.scale);
    return;
  }
  const std::uint64_t of_key = splitmix(key ^ splitmix(init.seed));
  if (init.kind == InitSpec::Kind::kNormal) {
    return kernels::fill_normal(of_key, init.scale, row.data(), row.size());
  }
  for (std::size_t column = 0; column < row.size(); ++column) {
    const std::uint64_t bits = splitmix(of_key + kernels::kColumnStep * (column + 1));
    row[column] = init.scale * uniform_signed(bits);
  }
}

}  // namespace thalweg
#endif
