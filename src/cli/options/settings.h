// The values of a command's options and where each came from, for `config show` and run directories.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/options/option_table.h"
#include "cli/options/options.h"

namespace thalweg {

nlohmann::ordered_json json_value(const OptionValue& value);
// {KEY: {"value", "origin"}}, of those that a configuration file may hold; `about` null: of all commands'.
nlohmann::ordered_json settings_of(const Options& options, const Command* about);

}  // namespace thalweg
