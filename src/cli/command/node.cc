// thalweg node: one role of a cluster by hand, and what train --processes starts.
#include <fmt/format.h>

#include <utility>

#include "cli/command/commands.h"
#include "cli/options/memory_limit.h"
#include "cli/options/trainer_options.h"
#include "cli/signals.h"
#include "cli/view/train_view.h"

namespace thalweg {
namespace {

Result<NodeOptions> node_options(const Options& options, std::string_view command, Output& out) {
  const auto scheduler = options.maybe_text("join");
  if (!scheduler) {
    return with_hint(
        {Code::kUsage, fmt::format("thalweg {} needs --join ADDR, the scheduler's address", command)},
        find_command(program_commands(), command)->example);
  }
  NodeOptions node;
  node.scheduler = *scheduler;
  node.listen = options.maybe_text("listen").value_or(node.listen);
  node.secret_file = options.maybe_text("secret-file").value_or("");
  node.insecure_no_auth = options.flag("insecure-no-auth");
  node.patience = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(options.real("timeout")));
  node.log = [&out](const std::string& line) { out.note(line); };
  return node;
}

void warn_if_insecure(const NodeOptions& node, Output& out) {
  if (node.insecure_no_auth) out.warn("--insecure-no-auth: " + insecurity(node));
}

// With --quiet, which train --processes gives its nodes, what the scheduler shows is not said again.
Status ended(const TrainNodeEnd& end, Output& out) {
  if (end.status.ok()) out.note("the job is done");
  if (end.status.ok() || !end.told || !out.style().quiet || out.style().json) return end.status;
  out.end_with(exit_code(end.status.code()));
  return ok_status();
}

// What both kinds of nodes need.
Result<TrainNode> train_node(const Options& options, std::string_view command, Output& out) {
  auto node = node_options(options, command, out);
  if (!node) return node.status();
  const auto memory = memory_limit(options);
  if (!memory) return memory.status();
  TrainNode made;
  made.node = std::move(node).value();
  made.memory = *memory;
  made.files = options.arguments();
  made.on_message = [&out](TrainMessage, const std::string& line) { out.warn(line); };
  return made;
}

}  // namespace

Status run_node_server(const Options& options, Output& out) {
  auto node = train_node(options, "node server", out);
  if (!node) return node.status();
  warn_if_insecure(node->node, out);
  node->stop = &catch_own_interrupts();
  return ended(run_train_server(*node), out);
}

Status run_node_worker(const Options& options, Output& out) {
  auto node = train_node(options, "node worker", out);
  if (!node) return node.status();
  node->stop = &catch_own_interrupts();
  return ended(run_train_worker(*node), out);
}

Status run_node_scheduler(const Options& options, Output& out) {
  NodeOptions node;
  node.scheduler = options.maybe_text("listen").value_or(node.scheduler);
  node.secret_file = options.maybe_text("secret-file").value_or("");
  node.insecure_no_auth = options.flag("insecure-no-auth");
  warn_if_insecure(node, out);
  node.log = [&out](const std::string& line) { out.note(line); };
  return show_training(trainer_options(options, 0), out, [&](Trainer& trainer) { return trainer.run(node); });
}

}  // namespace thalweg
