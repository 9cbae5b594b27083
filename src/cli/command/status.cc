// status and events: how a live job is, as its scheduler tells it.
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "cli/work/own_node.h"
#include "thalweg/job_status.h"

namespace thalweg {
namespace {

constexpr std::string_view kAskOptions = "join|secret-file|insecure-no-auth|ask-timeout";

Result<JobStatus> ask_scheduler(const Options& options, Output& out) {
  auto node = joining_node(options, out);
  if (!node) return node.status();
  node->patience = options.duration("ask-timeout");
  return job_status(*node);
}

Status run_status(const Options& options, Output& out) {
  const auto status = ask_scheduler(options, out);
  if (!status) return status.status();
  out.human(status_text(*status));
  out.json(status_json(*status));
  return ok_status();
}

Status run_events(const Options& options, Output& out) {
  const auto status = ask_scheduler(options, out);
  if (!status) return status.status();
  out.human(events_text(*status));
  out.json(events_json(*status));
  return ok_status();
}

}  // namespace

extern constinit const Command kStatusCommand = {
    .path = "status",
    .summary = "Show who takes part in a live job, who is lost, and how far it is",
    .example = "thalweg status --join 127.0.0.1:7100",
    .run = run_status,
    .options = {kAskOptions},
};

extern constinit const Command kEventsCommand = {
    .path = "events",
    .summary = "Show who joined a live job, who was lost and why, and who took over, in order",
    .example = "thalweg events --join 127.0.0.1:7100",
    .run = run_events,
    .options = {kAskOptions},
};

}  // namespace thalweg
