// scale: servers are added to a live job, on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/late_servers.h"
#include "cli/work/own_node.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kServersMax = 64;  // At once.

constexpr OptionRow kScaleRows[] = {
    {.name = "more-servers",
     .type = OptionType::kText,
     .group = "Cluster",
     .help = "Servers to add, on this machine",
     .example = "+1",
     .placeholder = "+N",
     .flag = "servers"},
    {.name = "scale-timeout",
     .type = OptionType::kDuration,
     .group = "Cluster",
     .help = "Longest wait until they have their part; they go on joining after that",
     .example = "10min",
     .fallback = "60s",
     .placeholder = "SECONDS",
     .low = 0.001,
     .high = 86400,
     .flag = "timeout"},
};

// 0: it is none.
std::uint32_t added(const std::string& text) {
  const std::string digits = text.substr(std::min<std::size_t>(1, text.size()));
  const bool number = text.starts_with('+') && !digits.empty() && digits.size() <= 3 &&
                      std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; });
  return number ? static_cast<std::uint32_t>(std::stoul(digits)) : 0;
}

Status run_scale(const Options& options, Output& out) {
  auto node = joining_node(options, out);
  if (!node) return node.status();
  const std::string text = options.maybe_text("more-servers").value_or("");
  const std::uint32_t count = added(text);
  if (count == 0 || count > kServersMax) {
    return with_hint(
        {Code::kUsage, fmt::format("thalweg scale needs --servers +1 to +{}, got '{}'; thalweg drain "
                                   "lets a server leave",
                                   kServersMax, text)},
        options.command().example);
  }
  node->patience = options.duration("scale-timeout");
  node->unmet_patience = kUnmetPatience;
  std::vector<std::string> words{"node", "server", "--join", node->scheduler};
  for (const char* const name : {"secret-file", "memory"}) {
    if (const auto value = options.maybe_text(name))
      words.insert(words.end(), {fmt::format("--{}", name), *value});
  }
  if (node->insecure_no_auth) words.push_back("--insecure-no-auth");
  const auto late = start_late_servers(*node, count, words);
  if (!late) return late.status();
  nlohmann::ordered_json servers = nlohmann::ordered_json::array();
  for (const LateServer& one : late->servers) {
    out.human(fmt::format("server-{} (process {}) has joined; {}\n", one.server, one.pid, one.part));
    servers.push_back({{"server", one.server}, {"pid", one.pid}, {"part", one.part}});
  }
  out.json({{"servers", std::move(servers)}, {"seconds", std::chrono::duration<double>(late->took).count()}});
  return ok_status();
}

}  // namespace

extern constinit const Command kScaleCommand = {
    .path = "scale",
    .summary = "Add servers to a live job, which goes on and gives them their part of the key ranges",
    .example = "thalweg scale --servers +1 --join 127.0.0.1:7100",
    .run = run_scale,
    .options = {"join|secret-file|insecure-no-auth|memory"},
    .own = kScaleRows,
};

}  // namespace thalweg
