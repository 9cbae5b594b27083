// node scheduler: a training job whose other nodes join by hand.
#include <utility>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/options/trainer_options.h"
#include "cli/view/output.h"
#include "cli/view/train_view.h"
#include "cli/work/checkpoint_options.h"
#include "cli/work/own_node.h"

namespace thalweg {
namespace {

Status run_node_scheduler(const Options& options, Output& out) {
  NodeOptions node;
  node.scheduler = options.maybe_text("listen").value_or(node.scheduler);
  node.secret_file = options.maybe_text("secret-file").value_or("");
  node.insecure_no_auth = options.flag("insecure-no-auth");
  node.grace = options.duration("grace");
  warn_if_insecure(node, out);
  node.log = [&out](const std::string& line) { out.note(line); };
  TrainerOptions wanted = trainer_options(options, 0);
  auto checkpoint = checkpoint_options(options);
  if (!checkpoint) return checkpoint.status();
  wanted.checkpoint = *std::move(checkpoint);
  wanted.state = options.maybe_text("state").value_or("");
  wanted.state_tls = {options.maybe_text("state-ca").value_or(""),
                      options.maybe_text("state-cert").value_or(""),
                      options.maybe_text("state-key").value_or("")};
  wanted.standby = options.flag("standby");
  if (Status status = set_kept(options, wanted); !status.ok()) return status;
  return show_training(options, std::move(wanted), out, [&](Trainer& trainer) { return trainer.run(node); });
}

}  // namespace

extern constinit const Command kNodeSchedulerCommand = {
    .path = "node scheduler",
    .summary = "Run the scheduler of a training job whose other nodes join by hand",
    .example = "thalweg node scheduler --listen 127.0.0.1:7100 --servers 1 --workers 2 --out model",
    .run = run_node_scheduler,
    .options = {kReadOptions, kTrainOptions, kCheckpointOptions,
                "state|state-ca|state-cert|state-key|standby|listen|secret-file|insecure-no-auth"},
    .arguments = "[FILE...]",
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
