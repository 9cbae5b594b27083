#include "cli/options/settings.h"

#include <nlohmann/json.hpp>

namespace thalweg {

using nlohmann::ordered_json;

ordered_json json_value(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (std::holds_alternative<std::monostate>(value)) return nullptr;
  return value_text(value);
}

ordered_json settings_of(const Options& options, const Command* about) {
  ordered_json all = ordered_json::object();
  for (const OptionRow& row : option_rows()) {
    if (row.key.empty() || (about != nullptr && !applies_to(row, *about))) continue;
    all[std::string(row.key)] = {{"value", json_value(options.value(row.name))},
                                 {"origin", options.place(row.name)}};
  }
  return all;
}

}  // namespace thalweg
