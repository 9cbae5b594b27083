// Options in a TOML file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/option_value.h"

namespace thalweg {

inline constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;

struct FileOption {
  const OptionRow* row;
  OptionValue value;
  std::string place;  // "run.toml:3"
};

// Errors are kConfig and name file:line:column. Every key must be one of the table's.
Result<std::vector<FileOption>> read_config(const std::string& path);
Result<std::vector<FileOption>> parse_config(std::string_view text, const std::string& path);

// "there is no option 'train.rte'" with the nearest key as a hint.
std::string unknown_key(std::string_view key);

}  // namespace thalweg
