// version: what the program is and how it was built.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/build_info.h"
#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"

namespace thalweg {
namespace {

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

}  // namespace

extern constinit const Command kVersionCommand = {
    .path = "version",
    .summary = "Show the version and how the program was built",
    .example = "thalweg version --deps",
    .run = run_version,
    .options = {"deps"},
};

}  // namespace thalweg
