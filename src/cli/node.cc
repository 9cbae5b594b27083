// thalweg node: one role of a cluster by hand, and what train --processes starts.
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/memory_limit.h"
#include "cli/signals.h"
#include "cli/train_advice.h"
#include "cli/train_job.h"
#include "client/node_options.h"
#include "client/remote_cluster.h"

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
  node.patience =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.real("timeout")));
  node.log = [&out](const std::string& line) { out.note(line); };
  return node;
}

void warn_if_insecure(const NodeOptions& node, Output& out) {
  if (node.insecure_no_auth) out.warn("--insecure-no-auth: " + risk(node));
}

// With --quiet, which train --processes gives its nodes, what the scheduler shows is not said again.
Status ended(const NodeEnd& end, Output& out) {
  if (end.status) out.note("the job is done");
  if (end.status || !end.told || !out.style().quiet || out.style().json) return end.status;
  out.end_with(exit_code(end.status.code()));
  return Status::ok();
}

// Opens the data once for all shards of this process, when the job is known.
class LazyInputs {
 public:
  LazyInputs(std::vector<std::string> paths, std::uint64_t step_bytes_max, Output& out)
      : paths_(std::move(paths)), step_bytes_max_(step_bytes_max), out_(out) {}
  Result<std::shared_ptr<const TrainInputs>> open(const std::string& job) {
    if (inputs_) return inputs_;
    auto spec = train_spec_from_text(job);
    if (!spec) return spec.status();
    if (!paths_.empty()) spec->train.paths = paths_;
    if (!paths_.empty() && spec->valid.part != Part::kAll) spec->valid.paths = paths_;
    if (spec->train.paths.empty()) {
      return Status(Code::kUsage, "no training files: name them after -- here or at the scheduler");
    }
    auto inputs = open_inputs(std::move(spec).value());
    if (!inputs) return as_input(inputs.status());
    if (!paths_.empty() && (*inputs)->train->columns().guessed) {
      return with_hint(
          {Code::kUsage, fmt::format("{}: what its columns are was guessed from its first rows, so the "
                                     "scheduler cannot save it with the model",
                                     (*inputs)->train->paths().front())},
          "start the scheduler with --columns that names each of them, as in " +
              columns_text((*inputs)->train->columns()));
    }
    inputs_ = std::move(inputs).value();
    inputs_->memory->set_max(step_bytes_max_);
    if (!paths_.empty()) warn_of_empty_files(inputs_->train->empty_paths(), out_);
    return inputs_;
  }
  const DataSet* data() const { return inputs_ ? inputs_->train.get() : nullptr; }

 private:
  std::vector<std::string> paths_;
  std::uint64_t step_bytes_max_;
  Output& out_;
  std::shared_ptr<const TrainInputs> inputs_;
};

Task<Status> train_remote_shard(ShardStore& store, std::string job, std::shared_ptr<LazyInputs> lazy) {
  const auto inputs = lazy->open(job);
  if (!inputs) co_return inputs.status();
  co_return co_await train_shard(store, *inputs);
}

}  // namespace

Status run_node_server(const Options& options, Output& out) {
  const auto node = node_options(options, "node server", out);
  if (!node) return node.status();
  const auto memory = memory_limit(options);
  if (!memory) return memory.status();
  warn_if_insecure(*node, out);
  return ended(run_remote_server(*node, {}, &catch_own_interrupts(), *memory), out);
}

Status run_node_worker(const Options& options, Output& out) {
  const auto node = node_options(options, "node worker", out);
  if (!node) return node.status();
  const auto memory = memory_limit(options);
  if (!memory) return memory.status();
  const auto lazy = std::make_shared<LazyInputs>(options.arguments(), memory_for_steps(*memory), out);
  const auto program = [lazy](ShardStore& store, const wire::Map& map) {
    return train_remote_shard(store, map.job, lazy);
  };
  NodeEnd end = run_remote_worker(*node, program, &catch_own_interrupts());
  if (lazy->data() != nullptr) end.status = with_cause(end.status, lazy->data());
  return ended(end, out);
}

Status run_node_scheduler(const Options& options, Output& out) {
  NodeOptions node;
  node.scheduler = options.maybe_text("listen").value_or(node.scheduler);
  node.secret_file = options.maybe_text("secret-file").value_or("");
  node.insecure_no_auth = options.flag("insecure-no-auth");
  warn_if_insecure(node, out);
  auto job = TrainJob::create(options, out);
  if (!job) return job.status();
  const auto servers = static_cast<std::uint32_t>(options.maybe_integer("servers").value_or(1));
  const auto workers = static_cast<std::uint32_t>(options.maybe_integer("workers").value_or(1));
  RemoteClusterOptions cluster;
  cluster.job = (*job)->scheduler_options(servers, workers);
  cluster.observer = (*job)->observer();
  cluster.listen = node.scheduler;
  const auto secret = job_secret(node, true);
  if (!secret) return secret.status();
  cluster.secret = *secret;
  cluster.insecure_no_auth = node.insecure_no_auth;
  cluster.log = [&out](const std::string& line) { out.note(line); };
  auto remote = RemoteCluster::start(std::move(cluster));
  if (!remote) return remote.status();
  const std::string missing = (*remote)->missing();
  out.note(fmt::format("scheduler listens on {}; {}", (*remote)->address(),
                       missing.empty() ? "all are there" : "waiting for " + missing));
  return (*job)->run(**remote, servers, workers);
}

}  // namespace thalweg
