// run: starts the ranks of a program with the variables that say who they are.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/signals.h"
#include "cli/view/output.h"
#include "cli/work/rank_processes.h"
#include "net/socket/reserved_port.h"
#include "net/socket/secret_file.h"

namespace thalweg {
namespace {

constexpr std::uint16_t kUsualPort = 29500;

Result<RankLaunch> read_launch(const Options& options) {
  RankLaunch launch;
  launch.command = options.arguments();
  launch.ranks = static_cast<std::uint32_t>(options.integer("run-processes"));
  launch.nodes = static_cast<std::uint32_t>(options.integer("nodes"));
  launch.node = static_cast<std::uint32_t>(options.integer("node-rank"));
  launch.master_host = options.text("master-addr");
  launch.transport = options.choice("transport").word;
  launch.insecure_no_auth = options.flag("insecure-no-auth");
  launch.label = options.flag("label");
  launch.grace = std::chrono::milliseconds(static_cast<std::int64_t>(options.real("rank-grace") * 1000));
  if (launch.node >= launch.nodes) {
    return Status(Code::kUsage, fmt::format("--node-rank {}: expected a number below --nodes, which is {}",
                                            launch.node, launch.nodes));
  }
  if (launch.nodes > 1 && options.origin("master-addr") == Origin::kDefault) {
    return Status(Code::kUsage, "--nodes needs --master-addr: the machine of rank 0, as the others reach it");
  }
  if (const auto port = options.maybe_integer("master-port")) {
    launch.master_port = static_cast<std::uint16_t>(*port);
  } else if (launch.nodes > 1) {
    launch.master_port = kUsualPort;  // All machines must mean the same one.
  }
  return launch;
}

// The secret of the groups that the ranks form: in the file that is named, which all machines need; else
// where all ranks are here a new one, in memory that they inherit. What it returns lives until they have
// started.
Result<FileDescriptor> give_secret(const Options& options, RankLaunch& launch) {
  if (const auto file = options.maybe_text("secret-file")) {
    const Result<Secret> secret = launch.node == 0 ? read_or_make_secret(*file) : read_secret(*file);
    if (!secret) return secret.status();
    launch.secret_file = std::filesystem::absolute(*file).string();
    return FileDescriptor();
  }
  if (launch.nodes > 1) return FileDescriptor();
  Result<FileDescriptor> secret = secret_descriptor(draw_secret());
  if (!secret) return secret;
  launch.inherited = secret->get();
  launch.secret_file = descriptor_path(secret->get());
  return secret;
}

// Where this launcher chooses where ranks meet and they inherit the secret, they inherit that place too;
// programs that close what they do not know use --secret-file, and rank 0 then listens itself.
Status hold_rendezvous(const Options& options, RankLaunch& launch, HeldPort& rendezvous) {
  const bool chosen_here = options.origin("master-addr") == Origin::kDefault &&
                           !options.maybe_integer("master-port") && launch.inherited >= 0;
  if (!chosen_here) return ok_status();
  Result<HeldPort> held = hold_port();
  if (!held) return held.status();
  rendezvous = *std::move(held);
  launch.own_port = rendezvous.number;
  launch.listener = rendezvous.socket.get();
  return ok_status();
}

void warn_if_reachable(const RankLaunch& launch, Output& out) {
  if (!launch.insecure_no_auth) return;
  out.warn(launch.secret_file.empty()
               ? "--insecure-no-auth: whoever reaches the ranks' ports can join, read "
                 "and change what they exchange"
               : "--insecure-no-auth: whoever is on the way between the ranks can read "
                 "and change what they exchange");
}

Status run_run(const Options& options, Output& out) {
  Result<RankLaunch> launch = read_launch(options);
  if (!launch) return launch.status();
  const Result<FileDescriptor> secret = give_secret(options, *launch);
  if (!secret) return secret.status();
  warn_if_reachable(*launch, out);
  std::optional<ReservedPort> free_port;  // Until the ranks have ended.
  if (launch->master_port == 0) {
    Result<ReservedPort> reserved = ReservedPort::reserve();
    if (!reserved) return reserved.status();
    free_port = *std::move(reserved);
    launch->master_port = free_port->number();
  }
  HeldPort rendezvous;  // As long.
  if (Status held = hold_rendezvous(options, *launch, rendezvous); !held.ok()) return held;
  const std::atomic<bool>& stop = catch_interrupts();
  const Result<RanksEnd> end = run_ranks(*launch, stop, out.results(), out.words());
  if (!end) return end.status();
  if (!end->failed.empty()) out.warn(fmt::format("{}; the other ranks were ended", end->failed));
  out.json(
      {{"ranks", launch->ranks * launch->nodes}, {"exit_code", end->exit_code}, {"failed", end->failed}});
  out.end_with(end->exit_code);
  return ok_status();
}

}  // namespace

extern constinit const Command kRunCommand = {
    .path = "run",
    .summary = "Start the ranks of a program, each with variables that say which one it is",
    .example = "thalweg run -n 4 -- ./program --its-own-flag",
    .run = run_run,
    .options = {"secret-file|insecure-no-auth|run-processes|nodes|node-rank|master-addr|master-port|"
                "transport|label|rank-grace"},
    .arguments = "PROGRAM...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
