// What readers of control messages share.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/bytes.h"

namespace thalweg::wire {

// Refuses what is above `last`.
template <class Enum>
Enum get_enum(Reader& in, Enum last) {
  const auto value = in.get<std::uint8_t>();
  if (value > static_cast<std::uint8_t>(last)) in.fail();
  return static_cast<Enum>(value);
}

inline bool get_bool(Reader& in) {
  const auto value = in.get<std::uint8_t>();
  if (value > 1) in.fail();
  return value != 0;
}

// The message, unless something was wrong or is left over.
template <class T>
std::optional<T> finish(const Reader& in, T message) {
  if (!in.done()) return std::nullopt;
  return message;
}

}  // namespace thalweg::wire
