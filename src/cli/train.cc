// thalweg train: one process by default, several with --processes.
#include <algorithm>
#include <thread>

#include "cli/commands.h"
#include "cli/memory_limit.h"
#include "cli/train_job.h"
#include "client/remote_cluster.h"

namespace thalweg {
namespace {

Status run_processes(const Options& options, Output& out, TrainJob& job, std::uint32_t cores,
                     std::uint64_t memory) {
  const auto servers = static_cast<std::uint32_t>(options.maybe_integer("servers").value_or(1));
  const auto workers = static_cast<std::uint32_t>(
      options.maybe_integer("workers").value_or(std::min(cores, job.spec().shards)));
  const auto& paths = job.spec().train.paths;
  if (std::find(paths.begin(), paths.end(), "-") != paths.end()) {
    return {Code::kUsage, "--processes cannot share standard input; give a file, or leave --processes out"};
  }
  if (options.has("threads")) {
    return {Code::kUsage,
            "--threads is for one process; with --processes each worker has one, so say --workers"};
  }
  RemoteClusterOptions cluster;
  cluster.job = job.scheduler_options(servers, workers);
  cluster.observer = job.observer();
  cluster.secret = draw_secret();
  cluster.log = [&out](const std::string& line) { out.detail(line); };
  const auto add = [&](Role role, const char* word, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      cluster.processes.push_back({role,
                                   {"node", word, "--join", "{scheduler}", "--secret-file", "{secret}",
                                    "--quiet", "--memory", memory_part(memory, count)}});
    }
  };
  add(Role::kServer, "server", servers);
  add(Role::kWorker, "worker", workers);
  auto remote = RemoteCluster::start(std::move(cluster));
  if (!remote) return remote.status();
  return job.run(**remote, servers, workers);
}

}  // namespace

Status run_train(const Options& options, Output& out) {
  const auto memory = memory_limit(options);
  if (!memory) return memory.status();
  auto job = TrainJob::create(options, out);
  if (!job) return job.status();
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  if (options.flag("processes")) return run_processes(options, out, **job, cores, *memory);
  const auto threads = static_cast<std::uint32_t>(options.maybe_integer("threads").value_or(cores));
  const auto servers =
      static_cast<std::uint32_t>(options.maybe_integer("servers").value_or(std::min(threads, 8u)));
  const auto workers = static_cast<std::uint32_t>(
      options.maybe_integer("workers").value_or(std::min(threads, (*job)->spec().shards)));
  LocalClusterOptions cluster;
  cluster.job = (*job)->scheduler_options(servers, workers);
  cluster.threads = threads - 1;  // This thread helps while it waits.
  cluster.table_bytes_max = *memory;
  const auto inputs = (*job)->inputs();
  inputs->memory->set_max(memory_for_steps(*memory));
  cluster.program = [inputs](ShardStore& store, const wire::Map&) { return train_shard(store, inputs); };
  cluster.observer = (*job)->observer();
  LocalCluster local(std::move(cluster));
  return (*job)->run(local, servers, workers);
}

}  // namespace thalweg
