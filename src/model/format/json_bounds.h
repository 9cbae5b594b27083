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

struct JsonFindings {
  std::string exceeded;  // The first bound that the text exceeds, in words; empty where it exceeds none.
  std::string repeated;  // The first name that stands twice in one object.
};

// Of any text, JSON or not; stops at the first bound. Holds one string of the text at a time, and the names
// of the objects that are open there: a parser's callback would look through an object again for each member.
JsonFindings look_over(std::string_view text, const JsonBounds& bounds);

}  // namespace thalweg
