// completion: scripts for shells.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/completion.h"
#include "cli/options/options.h"
#include "cli/view/output.h"

namespace thalweg {
namespace {

Status run_completion(const Options& options, Output& out) {
  const std::string& shell = options.arguments()[0];
  std::string script;
  if (shell == "bash") script = bash_completion(options.commands());
  if (shell == "zsh") script = zsh_completion(options.commands());
  if (shell == "fish") script = fish_completion(options.commands());
  if (script.empty()) {
    return {Code::kUsage, fmt::format("there is no completion for '{}'; expected bash, zsh or fish", shell)};
  }
  out.human(script);
  out.json({{"shell", shell}, {"script", script}});
  return ok_status();
}

}  // namespace

extern constinit const Command kCompletionCommand = {
    .path = "completion",
    .summary = "Print a completion script for a shell",
    .example = "thalweg completion bash > ~/.local/share/bash-completion/completions/thalweg",
    .run = run_completion,
    .arguments = "bash|zsh|fish",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
