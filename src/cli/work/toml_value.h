// Options as values of a TOML file. Includes toml++, for .cc files alone.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "cli/options/option_value.h"

namespace thalweg {

// "run.toml:3:9: message", kConfig.
Status toml_error(const std::string& path, const toml::source_position& at, const std::string& message);
// What `node` says for an option; `key` is what the file calls it. Errors are those of toml_error().
Result<OptionValue> toml_option(const std::string& path, std::string_view key, const OptionRow& row,
                                const toml::node& node);
// Of a file, at most kConfigBytesMax. Its name stands for the file in messages.
Result<std::string> read_toml_text(const std::string& path);
Result<toml::table> parse_toml(std::string_view text, const std::string& path);

}  // namespace thalweg
