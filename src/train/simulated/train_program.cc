#include "train/simulated/train_program.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "base/hint.h"
#include "data/input_words.h"
#include "train/algorithm_plan.h"
#include "train/replica_trainer.h"
#include "train/train_plan.h"

namespace thalweg {

Result<TrainProgram> train_program(const TrainerOptions& options) {
  auto plan = plan_training(options);
  if (!plan) return plan.status();
  if (plan->pipe) return Status(Code::kUsage, "rows must be in files here, not in a pipe");
  if (!plan->spec.exchange.empty()) {
    return with_hint(
        {Code::kUsage, fmt::format("--algorithm {} by --exchange {} is not simulated: its shards talk to "
                                   "each other",
                                   plan->spec.algorithm, plan->spec.exchange)},
        "simulate an algorithm by servers; thalweg simulate exchange has the time of routes");
  }
  auto model = make_model(plan->spec.model);
  if (!model) return model.status();
  TrainProgram out;
  out.consistency = plan->consistency;
  out.tables = server_tables(plan->spec, (*model)->tables());
  out.shards = plan->spec.shards;
  out.shard_batch_rows = plan->spec.shard_batch_rows();
  out.algorithm = plan->spec.algorithm;
  for (const std::string& text : plan->warnings) {
    if (options.on_message) options.on_message(TrainMessage::kWarning, text);
  }
  auto inputs = open_inputs(std::move(plan->spec));
  if (!inputs) return as_input(inputs.status());
  (*inputs)->memory->set_max(memory_for_steps(options.memory));
  out.shard = [shared = std::move(inputs).value()](Store& store) {
    return train_by_algorithm(store, shared, nullptr);
  };
  return out;
}

std::optional<LossSum> learnt_loss(ReportId id, std::string_view report) {
  if (id.epoch % 2 != 0) return std::nullopt;
  Reader in(std::as_bytes(std::span(report)));
  LossSum sum;
  sum.loss = in.get<double>();
  sum.weight = in.get<double>();
  return sum;
}

}  // namespace thalweg
