// thalweg train: one process by default, several with --processes.
#include <algorithm>
#include <thread>

#include "cli/commands.h"
#include "cli/train_job.h"

namespace thalweg {

Status run_train(const Options& options, Output& out) {
  auto job = TrainJob::create(options, out);
  if (!job) return job.status();
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  const auto threads = static_cast<std::uint32_t>(options.maybe_integer("threads").value_or(cores));
  const auto servers =
      static_cast<std::uint32_t>(options.maybe_integer("servers").value_or(std::min(threads, 8u)));
  const auto workers = static_cast<std::uint32_t>(
      options.maybe_integer("workers").value_or(std::min(threads, (*job)->spec().shards)));
  LocalClusterOptions cluster;
  cluster.job = (*job)->scheduler_options(servers, workers);
  cluster.threads = threads - 1;  // This thread helps while it waits.
  const auto inputs = (*job)->inputs();
  cluster.program = [inputs](ShardStore& store, const wire::Map&) { return train_shard(store, inputs); };
  cluster.observer = (*job)->observer();
  LocalCluster local(std::move(cluster));
  return (*job)->run(local, servers, workers);
}

}  // namespace thalweg
