// JSON objects whose last member is an XXH3-128 checksum of everything before it.
#pragma once

#include <string>
#include <string_view>

namespace thalweg {

// `text`: an object with members as nlohmann::json::dump(2) writes it.
std::string sealed(std::string text);
bool is_sealed(std::string_view text);

}  // namespace thalweg
