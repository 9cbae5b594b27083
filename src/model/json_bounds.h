// Bounds of a JSON text that is checked before a tree is made of it: a tree takes many times the memory of
// its text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thalweg {

struct JsonBounds {
  std::size_t depth;       // Objects and arrays in one another.
  std::size_t values;      // Of all kinds, in the whole text.
  std::size_t names;       // Of one object.
  std::size_t name_bytes;  // Of one of them.
};

// The first bound that `text` exceeds, in words; empty where it exceeds none, JSON or not. Stops there, and
// holds one string of the text at a time.
std::string exceeded_bound(std::string_view text, const JsonBounds& bounds);

}  // namespace thalweg
