#include "cli/work/own_node.h"

#include <fmt/format.h>

#include <utility>

#include "cli/options/memory_limit.h"

namespace thalweg {

Result<NodeOptions> joining_node(const Options& options, Output& out) {
  const auto scheduler = options.maybe_text("join");
  if (!scheduler) {
    return with_hint({Code::kUsage, fmt::format("thalweg {} needs --join ADDR, the scheduler's address",
                                                options.command().path)},
                     options.command().example);
  }
  NodeOptions node;
  node.scheduler = *scheduler;
  node.secret_file = options.maybe_text("secret-file").value_or("");
  node.insecure_no_auth = options.flag("insecure-no-auth");
  node.log = [&out](const std::string& line) { out.note(line); };
  return node;
}

void warn_if_insecure(const NodeOptions& node, Output& out) {
  if (node.insecure_no_auth) out.warn("--insecure-no-auth: " + insecurity(node));
}

Status ended(const TrainNodeEnd& end, Output& out) {
  if (end.status.ok()) out.note("this node's part of the job is done");
  if (end.status.ok() || !end.told || !out.style().quiet || out.style().json) return end.status;
  out.end_with(exit_code(end.status.code()));
  return ok_status();
}

Result<TrainNode> train_node(const Options& options, Output& out) {
  auto node = joining_node(options, out);
  if (!node) return node.status();
  node->listen = options.maybe_text("listen").value_or(node->listen);
  node->patience = options.duration("timeout");
  node->grace = options.duration("grace");
  const auto memory = memory_limit(options);
  if (!memory) return memory.status();
  TrainNode made;
  made.node = std::move(node).value();
  made.memory = *memory;
  made.files = options.arguments();
  made.on_message = [&out](TrainMessage, const std::string& line) { out.warn(line); };
  return made;
}

}  // namespace thalweg
