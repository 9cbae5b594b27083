#include "train/plan/rule_plan.h"

#include <algorithm>
#include <cmath>

#include "train/plan/algorithm_plan.h"
#include "train/plan/dense_plan.h"
#include "train/plan/plan_checks.h"

namespace thalweg {
namespace {

// What did well on the train parts of the data sets in docs/quality.md. A gradient is the sum over a step's
// rows; the rules of the SGD family follow its size, so their rates fall with the rows.
float default_rate(RuleKind kind, const TrainSpec& spec) {
  const Loss loss = spec.model.loss;
  const bool unbounded = loss == Loss::kSquared || loss == Loss::kPoisson;
  const float steepness = unbounded ? 4.0f : 1.0f;  // Of the slope; a logistic one changes by at most 1/4.
  const float per_row = 1.0f / (steepness * static_cast<float>(update_rows(spec)));
  switch (kind) {
    case RuleKind::kFtrl:
      return 0.1f;
    case RuleKind::kAdagrad:
      return unbounded ? 0.3f : loss == Loss::kClasses ? 0.1f : 0.05f;
    case RuleKind::kSgd:
      return 0.75f * per_row;
    case RuleKind::kMomentum:
    case RuleKind::kNesterov:
      return 0.1f * per_row;
    case RuleKind::kRmsprop:
      return 0.003f;
    default:
      return 0.01f;
  }
}

// FTRL's penalty counts once for all rows, so it holds back rare features and vanishes beside frequent ones.
float default_l2(RuleKind kind) { return kind == RuleKind::kFtrl ? 10.0f : 0.0f; }

// Adagrad adds the penalty to the gradient at each touch of a key; slopes of squared loss are the larger.
float default_factor_l2(RuleKind kind, Loss loss) {
  if (kind != RuleKind::kAdagrad) return 0.0f;
  return loss == Loss::kSquared ? 0.5f : 0.02f;
}

RuleSpec rule(RuleKind kind, float rate) {
  RuleSpec spec;
  spec.kind = kind;
  spec.rate = rate;
  if (kind == RuleKind::kFtrl) spec.epsilon = 1.0f;  // FTRL's beta.
  return spec;
}

// Adagrad's first step moves each factor by the whole rate and with it each of a row's pairs of entries, so
// many pairs need a small rate. `entries` is the mean number in a row.
float default_factor_rate(RuleKind kind, const TrainSpec& spec, double entries) {
  constexpr double kMax = 0.2, kRateTimesPairs = 6;
  if (kind != RuleKind::kAdagrad) return default_rate(kind, spec);
  const double pairs = entries * (entries - 1) / 2;
  return static_cast<float>(std::min(kMax, kRateTimesPairs / std::max(pairs, 1.0)));
}

// A row's score moves by the rate for each of its entries and once for the bias, so that rows of few entries
// come to the mean label slowly: the bias makes up for the entries that they lack. Other rules than FTRL
// would follow the noise of single steps, or overshoot where their steps grow with the distance.
std::optional<float> default_bias_rate(const RuleSpec& weights, double entries, const LabelSize& labels,
                                       Loss loss) {
  constexpr double kEntriesEnough = 20, kMaxTimes = 20;
  const bool far = loss != Loss::kPoisson && labels.mean != 0;
  if (weights.kind == RuleKind::kFtrl && far)  // Its weights follow from sums alone.
    return static_cast<float>(weights.rate * std::abs(labels.mean) / labels.times);
  const double times = kEntriesEnough / std::max(entries, 1.0);
  if (weights.kind != RuleKind::kFtrl || times <= 1) return std::nullopt;
  return static_cast<float>(weights.rate * std::min(times * times, kMaxTimes));
}

// Training begins with the mean label of all rows: a bias that begins with 0 has to unlearn the shift first,
// in large steps that few rows do not make up for.
void begin_balanced(const TrainerOptions& options, const LabelSpread& labels, ModelSpec& model) {
  if (model.score_shift == 0) return;
  const auto mean = log_odds(labels);
  model.bias_init = mean.value_or(-model.score_shift);
  if (mean) model.bias_rate = options.bias_rate;
}

// Factors are multiplied in pairs, so that theirs grow with the root.
void choose_factor_rule(const TrainerOptions& options, RuleKind kind, double entries, const LabelSize& labels,
                        TrainSpec& spec) {
  const double times = steps_by_rate(kind) ? std::sqrt(labels.times) : 1 / labels.steep;
  const auto rate = static_cast<float>(default_factor_rate(kind, spec, entries) * times);
  const auto l2 = static_cast<float>(default_factor_l2(kind, spec.model.loss) * labels.times);
  spec.model.factors = rule(kind, options.factor_rate.value_or(rate));
  spec.model.factors.l2 = options.factor_l2.value_or(l2);
  const bool unsaid = options.init_scale == TrainerOptions().init_scale;
  if (unsaid && labels.times < 1) spec.model.init_scale *= static_cast<float>(std::sqrt(labels.times));
}

Status choose_rules(const TrainerOptions& options, const RowsSeen& rows, TrainSpec& spec) {
  const LabelSize& labels = rows.size;
  ModelSpec& model = spec.model;
  const auto algorithm = algorithm_of(spec);
  const bool ftrl = model.loss == Loss::kLogistic && algorithm && algorithm->algorithm->state;
  const RuleKind weights = options.optimizer.value_or(ftrl ? RuleKind::kFtrl : RuleKind::kAdagrad);
  const bool one_for_all = options.optimizer && weights != RuleKind::kFtrl;
  const RuleKind factors = options.factor_optimizer.value_or(one_for_all ? weights : RuleKind::kAdagrad);
  const double times = steps_by_rate(weights) ? labels.times : 1 / labels.steep;
  const auto rate = static_cast<float>(default_rate(weights, spec) * times);
  model.weights = rule(weights, options.rate.value_or(rate));
  model.bias_rate = options.bias_rate ? options.bias_rate
                                      : default_bias_rate(model.weights, rows.entries, labels, model.loss);
  if (weights != RuleKind::kFtrl) model.bias_init = static_cast<float>(labels.mean);
  model.weights.l1 = options.l1.value_or(0);
  model.weights.l2 = options.l2.value_or(default_l2(weights));
  choose_factor_rule(options, factors, rows.entries, labels, spec);
  return check_rates(model);
}

// Above the factors.
Status choose_layers(const TrainerOptions& options, const ModelKind& kind, ModelSpec& model) {
  if (kind.deep == nullptr) return ok_status();
  model.layers_rule = rule(RuleKind::kAdagrad, options.layer_rate.value_or(kind.deep->rate));
  return choose_hidden(options, kind.deep->hidden, model);
}

}  // namespace

Status plan_rules(const TrainerOptions& options, const ModelKind& kind, const RowsSeen& rows,
                  TrainSpec& spec) {
  if (Status status = choose_rules(options, rows, spec); !status.ok()) return status;
  begin_balanced(options, rows.labels, spec.model);
  return choose_layers(options, kind, spec.model);
}

Status plan_dense_rule(const TrainerOptions& options, const ModelKind& kind, TrainSpec& spec) {
  const RuleKind wanted = spec.model.weights.kind;
  const float rate = wanted == kind.dense->rule ? kind.dense->rate : default_rate(wanted, spec);
  spec.model.weights = rule(wanted, options.rate.value_or(rate));
  spec.model.weights.l1 = options.l1.value_or(0);
  spec.model.weights.l2 = options.l2.value_or(0);
  spec.model.factors = spec.model.weights;
  return check_rates(spec.model);
}

}  // namespace thalweg
