// version, help, completion.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/build_info.h"
#include "cli/command/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/completion.h"
#include "cli/options/help.h"

namespace thalweg {

Status run_version(const Options& options, Output& out) {
  const BuildInfo info = build_info();
  out.human(fmt::format("thalweg {} ({}, {}, {}{}{})\n", info.version, info.build_type, info.compiler,
                        info.isa, info.sanitizer.empty() ? "" : ", ", info.sanitizer));
  nlohmann::ordered_json libraries = nlohmann::ordered_json::object();
  for (const auto& [name, version] : info.libraries) {
    if (options.flag("deps")) out.human(fmt::format("{} {}\n", name, version));
    libraries[name] = version;
  }
  out.json({{"version", info.version},
            {"build_type", info.build_type},
            {"compiler", info.compiler},
            {"isa", info.isa},
            {"sanitizer", info.sanitizer},
            {"libraries", libraries}});
  return ok_status();
}

Status run_help(const Options& options, Output& out) {
  const auto commands = program_commands();
  std::string text = program_help(commands);
  if (options.flag("man")) {
    text = manual_page(commands, build_info().version);
  } else if (!options.arguments().empty()) {
    const std::string& topic = options.arguments()[0];
    const Command* command = find_command(commands, topic);
    if (command == nullptr && !is_command_group(commands, topic)) {
      return unknown_command(commands, options.arguments());
    }
    text = command == nullptr ? group_help(commands, topic) : command_help(*command);
  }
  out.human(text);
  out.json({{"help", text}});
  return ok_status();
}

Status run_completion(const Options& options, Output& out) {
  const std::string& shell = options.arguments()[0];
  std::string script;
  if (shell == "bash") script = bash_completion(program_commands());
  if (shell == "zsh") script = zsh_completion(program_commands());
  if (shell == "fish") script = fish_completion(program_commands());
  if (script.empty()) {
    return {Code::kUsage, fmt::format("there is no completion for '{}'; expected bash, zsh or fish", shell)};
  }
  out.human(script);
  out.json({{"shell", shell}, {"script", script}});
  return ok_status();
}

}  // namespace thalweg
