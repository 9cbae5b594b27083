#include "thalweg/node.h"

#include <fmt/format.h>

#include <utility>

#include "base/limits.h"
#include "client/node_options.h"
#include "client/remote_cluster.h"
#include "client/shard_program.h"

namespace thalweg {

Status check(const NodeOptions& options) {
  if (options.name.size() > limits::kNameBytesMax) {
    return {Code::kUsage, fmt::format("NodeOptions::name has {} bytes, expected at most {}",
                                      options.name.size(), limits::kNameBytesMax)};
  }
  if (options.patience <= Duration{0} || options.patience > limits::kTimeoutMax) {
    return {Code::kUsage, fmt::format("NodeOptions::patience is {} ns, expected more than 0 and at most {} h",
                                      options.patience.count(), limits::kTimeoutMax / std::chrono::hours(1))};
  }
  if (options.insecure_no_auth && options.log) {
    options.log("insecure_no_auth: whoever reaches this process can read and change the model");
  }
  return Status::ok();
}

Status run_server(const NodeOptions& options, const CustomRules& rules) {
  if (Status status = check(options); !status) return status;
  return run_remote_server(options, rules).status;
}

Status run_worker(const NodeOptions& options, Program program) {
  if (Status status = check(options); !status) return status;
  if (!program) return {Code::kUsage, "run_worker() takes a program"};
  return run_remote_worker(options, shard_program(std::move(program))).status;
}

}  // namespace thalweg
