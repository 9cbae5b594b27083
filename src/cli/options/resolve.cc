#include "cli/options/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/options/config_file.h"
#include "cli/options/option_rules.h"
#include "cli/options/suggest.h"

namespace thalweg {
namespace {

// Read by the test programs and by ranks, not by this program's options.
constexpr std::array<std::string_view, 4> kOfOthers = {"THALWEG_TEST_DATA", "THALWEG_MASTER_PORT",
                                                       "THALWEG_LISTENER", "THALWEG_COSTS_FILE"};

Status refuse(Code code, const std::string& place, const Status& why) {
  return {code, fmt::format("{}: {}", place, why.message())};
}

Status take_file(const std::string& path, Options& options) {
  Result<std::vector<FileOption>> file = read_config(path);
  if (!file) return file.status();
  for (FileOption& given : *file) {
    options.assign(*given.row, std::move(given.value), Origin::kFile, std::move(given.place));
  }
  return ok_status();
}

Status unknown_variable(const std::string& name) {
  std::vector<std::string> known;
  for (const OptionRow& row : option_rows()) {
    if (std::string variable = variable_name(row); !variable.empty()) known.push_back(std::move(variable));
  }
  const std::string_view near = nearest(name, {known.begin(), known.end()});
  const std::string hint = near.empty() ? "thalweg help --man lists the variables; unset this one"
                                        : fmt::format("did you mean '{}'?", near);
  return {Code::kConfig, fmt::format("the environment variable {} names no option\nhint: {}", name, hint)};
}

Status take_variables(const Variables& variables, Options& options) {
  for (const auto& [name, text] : variables) {
    if (std::find(kOfOthers.begin(), kOfOthers.end(), name) != kOfOthers.end()) continue;
    const OptionRow* row = nullptr;
    for (const OptionRow& candidate : option_rows()) {
      if (is_variable_of(name, candidate)) row = &candidate;
    }
    if (row == nullptr) return unknown_variable(name);
    if (options.origin(row->name) == Origin::kVariable) {
      return {Code::kConfig, fmt::format("{} and {} are the same option; expected one of them",
                                         options.place(row->name), name)};
    }
    Result<OptionValue> value = parse_value(*row, text);
    if (!value) return refuse(Code::kConfig, name, value.status());
    options.assign(*row, *std::move(value), Origin::kVariable, name);
  }
  return ok_status();
}

Status take_set(const CommandLine& line, const std::string& text, Options& options) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos) {
    return {Code::kUsage, fmt::format("--set {}: expected KEY=VALUE, such as --set train.rate=0.05", text)};
  }
  const std::string key = text.substr(0, equals);
  const OptionRow* row = find_key(key);
  const std::string place = "--set " + key;
  if (row == nullptr) return refuse(Code::kUsage, place, {Code::kUsage, unknown_key(key)});
  const bool shows_all = line.command->about_command && line.about == nullptr;
  if (!line.in_scope(*row) && !shows_all) {
    return {Code::kUsage, fmt::format("{} means nothing to thalweg {}; it belongs to: {}", place,
                                      line.command->path, takers_of(*row, line.commands, "|"))};
  }
  Result<OptionValue> value = parse_value(*row, std::string_view(text).substr(equals + 1));
  if (!value) return refuse(Code::kUsage, place, value.status());
  options.assign(*row, *std::move(value), Origin::kSet, place);
  return ok_status();
}

Status take_flags(const CommandLine& line, Options& options) {
  for (const CommandLine::Given& given : line.given) {
    if (given.row->name == "set") continue;
    const std::string place = fmt::format("--{}", spelling(*given.row));
    Result<OptionValue> value = parse_value(*given.row, given.text);
    if (!value) return refuse(Code::kUsage, place, value.status());
    if (given.row->repeats && options.origin(given.row->name) == Origin::kFlag) {
      value = OptionValue(options.text(given.row->name) + "\n" + given.text);
    }
    options.assign(*given.row, *std::move(value), Origin::kFlag, "flag " + place);
  }
  return ok_status();
}

std::string config_path(const CommandLine& line, const Variables& variables) {
  std::string path;
  for (const auto& [name, text] : variables) {
    if (name == variable_name(*find_option("config"))) path = text;
  }
  for (const CommandLine::Given& given : line.given) {
    if (given.row->name == "config") path = given.text;
  }
  return path;
}

}  // namespace

Result<Options> resolve(const CommandLine& line, const Variables& variables) {
  Options options(*line.command, line.commands);
  options.set_arguments(line.arguments);
  if (const std::string path = config_path(line, variables); !path.empty()) {
    if (Status status = take_file(path, options); !status.ok()) return status;
  }
  if (Status status = take_variables(variables, options); !status.ok()) return status;
  for (const CommandLine::Given& given : line.given) {
    if (given.row->name != "set") continue;
    if (Status status = take_set(line, given.text, options); !status.ok()) return status;
  }
  if (Status status = take_flags(line, options); !status.ok()) return status;
  if (Status status = check_rules(options, line); !status.ok()) return status;
  return options;
}

}  // namespace thalweg
