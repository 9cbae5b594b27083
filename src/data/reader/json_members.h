// Members of a JSON line, without a row being made of it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

// A value that is no object and no array.
struct JsonScalar {
  enum class Kind : std::uint8_t { kString, kNumber, kWord, kNull };
  std::string_view path;  // Of its member, such as "id" or "user.id".
  std::string_view text;  // A string's, or as it is written; of null empty.
  Kind kind = Kind::kNull;
  bool in_array = false;  // One of several of its member.
};

// Of the line that begins here, ends with '\n' and has kTextPad readable bytes behind it; of a line that is
// no JSON those before its fault.
void visit_json_scalars(const char* line, const std::function<void(const JsonScalar&)>& visit);

// For each name, such as "id" or "user.id", the member's string, or its number or word as it is written; of
// what the line, which ends with '\n', does not have, null, objects and arrays nothing. `texts` is as long as
// `names`. Of a line that is no JSON what stands before its fault.
void find_json_members(std::string_view line, std::span<const std::string> names,
                       std::span<std::string> texts);

// Of the names of members those of which no line has a value, nor of an object in it.
std::vector<std::string> members_without_values(std::string_view lines, std::vector<std::string> names);

}  // namespace thalweg
