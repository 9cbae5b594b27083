#include "thalweg/node.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "base/limits.h"
#include "client/job/node_options.h"
#include "client/job/remote_cluster.h"
#include "client/job/shard_program.h"
#include "net/socket/secret_file.h"

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
  if (options.grace <= Duration{0} || options.grace > limits::kGraceMax) {
    return {Code::kUsage, fmt::format("NodeOptions::grace is {} ns, expected more than 0 and at most {} h",
                                      options.grace.count(), limits::kGraceMax / std::chrono::hours(1))};
  }
  if (options.insecure_no_auth && options.log) options.log("insecure_no_auth: " + risk(options));
  return ok_status();
}

std::string risk(const NodeOptions& options) {
  if (options.secret || !options.secret_file.empty()) {
    return "whoever is on the way to this process can read and change the model";
  }
  return "whoever reaches this process can read and change the model; a secret would keep out all but those "
         "on the "
         "way";
}

Result<Secret> job_secret(const NodeOptions& options, bool is_scheduler) {
  if (options.secret) return *options.secret;
  if (!options.secret_file.empty()) {
    return is_scheduler ? read_or_make_secret(options.secret_file) : read_secret(options.secret_file);
  }
  if (options.insecure_no_auth) return Secret{};
  return secret_of_user();
}

std::uint32_t temporary_index() {
  std::random_device device;
  return wire::kFirstTemporary | (device() >> 1);
}

Status run_server(const NodeOptions& options, const CustomRules& rules) {
  if (Status status = check(options); !status.ok()) return status;
  return run_remote_server(options, rules).status;
}

Status run_worker(const NodeOptions& options, Program program) {
  if (Status status = check(options); !status.ok()) return status;
  if (!program) return {Code::kUsage, "run_worker() takes a program"};
  return run_remote_worker(options, shard_program(std::move(program))).status;
}

}  // namespace thalweg
