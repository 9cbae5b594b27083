// Texts of some members, out of a JSON line.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace thalweg {

// For each name, such as "id" or "user.id", the member's string, or its number or word as it is written; of
// what the line, which ends with '\n', does not have, null, objects and arrays nothing. `texts` is as long as
// `names`. Of a line that is no JSON what stands before its fault.
void find_json_members(std::string_view line, std::span<const std::string> names,
                       std::span<std::string> texts);

}  // namespace thalweg
