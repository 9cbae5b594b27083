// A job over processes and machines: one program, started as its scheduler, its servers and its workers.
// docs/library.md, "On several machines", shows how.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "thalweg/job.h"
#include "thalweg/secret.h"

namespace thalweg {

// How this process takes part in a job. Addresses are "host:port"; port 0 takes a free one. Unless
// `insecure_no_auth`, they are of this machine's loopback: what travels is not encrypted.
struct NodeOptions {
  // Where the scheduler listens, and the others find it; for them several with commas, of which one leads at
  // a time, see TrainerOptions::standby.
  std::string scheduler = "127.0.0.1:7100";
  std::string listen = "127.0.0.1:0";  // Where the other nodes reach this server or worker.
  std::string name;                    // For people; empty: host and process.
  // The job's secret, or the file that holds it; the scheduler makes the file where it does not exist.
  // Without either it is this user's own on this machine, and with `insecure_no_auth` none: whoever comes
  // takes part.
  std::optional<Secret> secret;
  std::string secret_file;
  bool insecure_no_auth = false;
  // Scheduler: until the next node joins. Server, worker: until the scheduler answers.
  std::chrono::nanoseconds patience = std::chrono::seconds(60);
  // Who asks a live job's scheduler something: how much of `patience` it has while nobody takes its calls;
  // nothing: all of it.
  std::optional<std::chrono::nanoseconds> unmet_patience;
  // A node whose connection has closed counts as lost when it has not come back after this, at most 1 h. One
  // of this machine whose port is closed as well is lost at once.
  std::chrono::nanoseconds grace = std::chrono::seconds(3);
  // Server: share the work of large pulls and pushes; 0: one a core, at most 8.
  std::uint32_t threads = 0;
  // One line for people: who is waited for, who is lost. On any thread.
  std::function<void(const std::string& line)> log;
};

// Runs this process as a server, or as a worker, of the job whose scheduler is Job::listen(). Both return
// when the job is over, and say how it ended: OK when the scheduler's Job was destroyed after run() returned
// OK. Errors: kUsage, kIo, kTimeout (no scheduler), kRefused (not wanted), kPeerLost, the failure of a
// program. `rules`: by RuleSpec::custom. `thalweg node server` does for jobs without such rules.
Status run_server(const NodeOptions& options, const CustomRules& rules = {});
// Runs `program` for each data shard that the scheduler gives this worker; a shard that was another worker's,
// and begun, continues at Store::step(). One that comes when the job has begun gets some of the others' at
// once.
Status run_worker(const NodeOptions& options, Program program);

}  // namespace thalweg
