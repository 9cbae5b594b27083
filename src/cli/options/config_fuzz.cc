// Any bytes as a configuration file: options of the table, or an error with the place in the file.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "cli/options/config_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thalweg;
  const auto options = parse_config({reinterpret_cast<const char*>(data), size}, "run.toml");  // NOLINT
  if (!options) {
    THALWEG_CHECK(options.status().message().find("run.toml") != std::string::npos, "it names the file");
    return 0;
  }
  for (const FileOption& option : *options) {
    THALWEG_CHECK(option.row != nullptr && !option.row->key.empty(), "every key is one of the table's");
    THALWEG_CHECK(option.place.starts_with("run.toml:"), "and has a place");
  }
  return 0;
}
