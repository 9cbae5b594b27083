#include "exchange/combine/combine.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace thalweg {

const char* data_type_name(DataType type) {
  static constexpr const char* kNames[kDataTypes] = {"f32", "f64", "f16", "bf16", "i32", "i64", "u64"};
  return kNames[static_cast<std::size_t>(type)];
}

const char* reduction_name(Reduction reduction) {
  static constexpr const char* kNames[kReductions] = {"sum",     "mean", "min", "max",
                                                      "product", "and",  "or",  "reproducible-sum"};
  return kNames[static_cast<std::size_t>(reduction)];
}

const Arithmetic& Arithmetic::of(DataType type, Reduction reduction) {
  using Known = std::array<std::array<Arithmetic, kReductions>, kDataTypes>;
  static const Known kKnown = [] {  // To find the processor's kernels takes as long as to add 4 KiB.
    Known known;
    for (std::size_t t = 0; t < kDataTypes; ++t) {
      for (std::size_t r = 0; r < kReductions; ++r) {
        Arithmetic& made = known[t][r];
        made.type = static_cast<DataType>(t);
        made.reduction = static_cast<Reduction>(r);
        made.element_bytes = size_bytes(made.type);
        made.combine = combine_function(made.type, made.reduction);
        made.combine_many = combine_many_function(made.type, made.reduction);
      }
    }
    return known;
  }();
  return kKnown[static_cast<std::size_t>(type)][static_cast<std::size_t>(reduction)];
}

Arithmetic Arithmetic::of(const Monoid& monoid) {
  Arithmetic made;
  made.element_bytes = monoid.element_bytes;
  made.monoid = monoid;
  return made;
}

// A monoid combines in place, so a result elsewhere is built from a copy of `a`, a cacheful at a time.
void Arithmetic::apply(std::byte* out, const std::byte* a, const std::byte* b, std::size_t count) const {
  if (combine) return combine(out, a, b, count);
  THALWEG_CHECK(monoid.combine != nullptr, "a reduction with a kernel, or a monoid");
  if (out == a) return monoid.combine(out, b, count, monoid.context);
  if (out == b && monoid.commutative) return monoid.combine(out, a, count, monoid.context);
  constexpr std::size_t kCopied = std::size_t{32} << 10;
  const std::size_t run = std::min(count, std::max<std::size_t>(1, kCopied / element_bytes));
  std::vector<std::byte> before(out == b ? run * element_bytes : 0);
  for (std::size_t i = 0; i < count; i += run) {
    const std::size_t some = std::min(run, count - i), at = i * element_bytes, size = some * element_bytes;
    std::byte* const to = out == b ? before.data() : out + at;
    std::memcpy(to, a + at, size);
    monoid.combine(to, b + at, some, monoid.context);
    if (out == b) std::memcpy(out + at, to, size);
  }
}

void Arithmetic::finish(std::byte* data, std::size_t count, std::uint32_t contributions) const {
  if (!combine) return;
  if (reduction == Reduction::kMean) divide(type, data, count, contributions);
  const bool logical = reduction == Reduction::kAnd || reduction == Reduction::kOr;
  if (logical && contributions == 1) combine(data, data, data, count);
}

}  // namespace thalweg
