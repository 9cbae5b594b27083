#include "train/plan/chosen_options.h"

#include "model/model_kind.h"
#include "train/plan/algorithm_plan.h"

namespace thalweg {

TrainerOptions chosen(TrainerOptions options, const TrainPlan& plan) {
  const TrainSpec& spec = plan.spec;
  const ModelSpec& model = spec.model;
  options.model = model.script.empty() ? model.name : model.name + ":" + model.script;
  const auto kind = find_kind(model);
  if (kind && (*kind)->factors) {
    options.rank = model.rank;
    options.factor_optimizer = model.factors.kind;
    options.factor_rate = model.factors.rate;
    options.factor_l2 = model.factors.l2;
  }
  if (model.fields != 0) options.fields = model.fields;
  if (model.layers != 0) {
    options.context = model.inputs;
    options.layers = model.layers;
    options.width = model.width;
    options.heads = model.heads;
    options.valid_part = spec.valid.text.parts;
  } else {
    if (model.inputs != 0) options.inputs = model.inputs;
    if (model.classes != 0) options.classes = model.classes;
  }
  if (!model.hidden.empty()) options.hidden = model.hidden;
  options.consistency = plan.consistency;
  if (const auto algorithm = algorithm_of(spec)) {
    if (algorithm->algorithm->one_server) options.servers = 1;
    if (algorithm->algorithm->combining) options.combine = algorithm->algorithm->combining(algorithm->values);
  }
  options.exchange = spec.exchange.empty() ? "servers" : spec.exchange;
  options.loss = model.loss;
  options.epochs = spec.epochs;
  options.keep_best = plan.keeps_best;
  options.data_shards = spec.shards;
  if (spec.has_valid() && options.valid.empty() && options.valid_part == 0)
    options.valid = spec.valid.paths.front();
  options.batch = spec.batch_rows;
  options.optimizer = model.weights.kind;
  options.rate = model.weights.rate;
  options.l1 = model.weights.l1;
  options.l2 = model.weights.l2;
  options.bias_rate = model.bias_rate;
  if (model.layers_rule != RuleSpec()) options.layer_rate = model.layers_rule.rate;
  return options;
}

}  // namespace thalweg
