// What ranks add up: element types, and how contributions combine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thalweg {

enum class DataType : std::uint8_t { kF32, kF64, kF16, kBf16, kI32, kI64, kU64 };
inline constexpr std::size_t kDataTypes = 7;
constexpr std::size_t size_bytes(DataType type) {
  constexpr std::size_t kSizes[kDataTypes] = {4, 8, 2, 2, 4, 8, 8};
  return kSizes[static_cast<std::size_t>(type)];
}
const char* data_type_name(DataType type);  // "f32"

template <class T>
struct DataTypeOf;
template <>
struct DataTypeOf<float> {
  static constexpr DataType value = DataType::kF32;
};
template <>
struct DataTypeOf<double> {
  static constexpr DataType value = DataType::kF64;
};
template <>
struct DataTypeOf<std::int32_t> {
  static constexpr DataType value = DataType::kI32;
};
template <>
struct DataTypeOf<std::int64_t> {
  static constexpr DataType value = DataType::kI64;
};
template <>
struct DataTypeOf<std::uint64_t> {
  static constexpr DataType value = DataType::kU64;
};

// All are commutative and associative, up to rounding; kReproducibleSum without that "up to": its bits depend
// on the set of contributions alone. kAnd and kOr are logical: an element is true unless zero, results are 0
// and 1. kMean divides the sum, where integers wrap, by the number of contributions.
enum class Reduction : std::uint8_t { kSum, kMean, kMin, kMax, kProduct, kAnd, kOr, kReproducibleSum };
inline constexpr std::size_t kReductions = 8;
const char* reduction_name(Reduction reduction);  // "sum"

// A reduction of your own: `combine` sets each of `count` elements of `into` to its combination with the one
// of `from`. It must be associative, and may run on any thread, several at once. One that is not commutative
// combines contributions in the order of ranks, `into` being of lower ranks than `from`, by the routes that
// can (docs/exchange.md lists them).
struct Monoid {
  const char* name = "";
  std::size_t element_bytes = 0;
  void (*combine)(void* into, const void* from, std::size_t count, void* context) = nullptr;
  void* context = nullptr;
  bool commutative = true;
};

}  // namespace thalweg
