#include "cli/work/compared_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cli/options/suggest.h"
#include "cli/work/simulated_run.h"

namespace thalweg {
namespace {

struct SettingKey {
  std::string_view name;
  std::string_view option;  // Of thalweg simulate train.
};
constexpr SettingKey kKeys[] = {{"ranks", "workers"},       {"servers", "servers"},
                                {"compute", "compute"},     {"straggler", "straggler"},
                                {"latency", "latency"},     {"bandwidth", "bandwidth"},
                                {"room", "simulated-room"}, {"stop-after", "stop-after"}};

std::vector<std::string_view> key_names() {
  std::vector<std::string_view> names;
  for (const SettingKey& key : kKeys) names.push_back(key.name);
  return names;
}

Status unknown_key(const std::string& path, const toml::key& key) {
  const std::vector<std::string_view> names = key_names();
  const std::string_view near = key.str() == "workers" ? "ranks" : nearest(key.str(), names);
  return toml_error(
      path, key.source().begin,
      fmt::format("simulate has no '{}'; expected {}{}", key.str().substr(0, 80), fmt::join(names, ", "),
                  near.empty() ? "\nhint: other options stand beside simulate, not in it"
                               : fmt::format("\nhint: did you mean '{}'?", near)));
}

const OptionRow& row_of(const Command& simulated, std::string_view option) {
  const std::vector<const OptionRow*> rows = options_of(simulated);
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const OptionRow* row) { return row->name == option; });
  THALWEG_CHECK(found != rows.end(), "simulate's keys are options of simulate train");
  return **found;
}

Result<ComparedSetting> read_key(const std::string& path, const Command& simulated, const toml::key& key,
                                 const toml::node& node) {
  const auto* known = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [&](const SettingKey& one) { return one.name == key.str(); });
  if (known == std::end(kKeys)) return unknown_key(path, key);
  const OptionRow& row = row_of(simulated, known->option);
  const std::string name = fmt::format("simulate.{}", known->name);
  auto value = toml_option(path, name, row, node);
  if (!value) return value.status();
  if (const auto* text = std::get_if<std::string>(&*value)) {
    if (const Status status = check_simulation_option(row.name, *text); !status.ok())
      return toml_error(path, node.source().begin, fmt::format("{}: {}", name, status.message()));
  }
  return ComparedSetting{&row, *std::move(value), fmt::format("{}:{}", path, node.source().begin.line)};
}

}  // namespace

Result<std::vector<ComparedSetting>> read_simulate(const std::string& path, const Command& simulated,
                                                   const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    return toml_error(path, node.source().begin,
                      "simulate is no table; expected such as simulate = { ranks = 64, compute = \"30ms\", "
                      "straggler = \"1 of 32, x4\" }, or simulate = false of a run that is not simulated");
  }
  std::vector<ComparedSetting> out;
  for (const auto& [key, value] : *table) {
    auto setting = read_key(path, simulated, key, value);
    if (!setting) return setting.status();
    out.push_back(*std::move(setting));
  }
  return out;
}

}  // namespace thalweg
