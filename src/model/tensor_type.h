// Types of a tensor's elements, by the names that safetensors gives them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thalweg {

enum class DType : std::uint8_t { kU64, kF32, kF64, kF16, kBf16, kI64, kI32, kI16, kI8, kU8, kBool };

struct DTypeFacts {
  const char* name;
  std::uint32_t bytes;
  const char* numpy;  // Null: NumPy has no such type.
};
constexpr DTypeFacts facts_of(DType dtype) {
  constexpr DTypeFacts kFacts[] = {{"U64", 8, "<u8"}, {"F32", 4, "<f4"},    {"F64", 8, "<f8"},
                                   {"F16", 2, "<f2"}, {"BF16", 2, nullptr}, {"I64", 8, "<i8"},
                                   {"I32", 4, "<i4"}, {"I16", 2, "<i2"},    {"I8", 1, "|i1"},
                                   {"U8", 1, "|u1"},  {"BOOL", 1, "|b1"}};
  return kFacts[static_cast<std::size_t>(dtype)];
}

}  // namespace thalweg
