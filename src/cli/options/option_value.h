// A text given for an option, read as what its row asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "cli/options/option_table.h"
#include "thalweg/status.h"

namespace thalweg {

// "ssp:4" is {"ssp", 4}; "bsp" is {"bsp", nothing}; of a choice "script:FILE" the file is the text.
struct Choice {
  std::string word;
  std::optional<std::int64_t> number;
  std::string text = {};
  bool operator==(const Choice&) const = default;
};

using Interval = std::pair<std::int64_t, std::int64_t>;
using OptionValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, Choice, Interval>;

// Durations become seconds. The error says what was expected; the caller adds where the text stood.
Result<OptionValue> parse_value(const OptionRow& row, std::string_view text);
// "a whole number from 1 to 4096, such as 2"
std::string expectation(const OptionRow& row);
// As parse_value() would read it back; "" for no value.
std::string value_text(const OptionValue& value);

}  // namespace thalweg
