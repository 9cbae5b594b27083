#include "train/plan/plan_checks.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/limits.h"
#include "base/rule_fields.h"
#include "data/pair/interactions.h"

namespace thalweg {

Status check_numbers(const TrainerOptions& options) {
  const auto outside = [](const char* flag, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
    return value >= low && value <= high
               ? ok_status()
               : Status(Code::kUsage, fmt::format("{} {}; expected {} to {}", flag, value, low, high));
  };
  constexpr std::uint32_t kEpochsMax = 1'000'000, kRowsMax = 1u << 30;
  for (const Status& status :
       {outside("--epochs", options.epochs.value_or(1), 1, kEpochsMax),
        outside("--data-shards", options.data_shards.value_or(1), 1, limits::kShardsMax),
        outside("--batch", options.batch.value_or(1), 1, kRowsMax),
        outside("--hash-bits", options.hash_bits, 0, 63),
        outside("--valid-part", options.valid_part == 0 ? 2 : options.valid_part, 2, ~std::uint64_t{0}),
        outside("--servers", options.servers, 0, limits::kNodesMax / 2),
        outside("--replicas", options.replicas, 0, limits::kReplicasMax),
        outside("--workers", options.workers, 0, limits::kNodesMax),
        outside("--threads", options.threads, 0, limits::kThreadsMax),
        // And one that looks on.
        outside("--servers and --workers, together", std::uint64_t{options.servers} + options.workers, 0,
                limits::kNodesMax - 1)}) {
    if (!status.ok()) return status;
  }
  for (const auto& rule : {options.optimizer, options.factor_optimizer}) {
    if (rule && !is_of_gradients(*rule)) {
      return {Code::kUsage, "--optimizer; expected a rule of gradients, such as ftrl"};
    }
  }
  const std::pair<const char*, std::optional<float>> sizes[] = {{"--rate", options.rate},
                                                                {"--bias-rate", options.bias_rate},
                                                                {"--l1", options.l1},
                                                                {"--l2", options.l2},
                                                                {"--factor-rate", options.factor_rate},
                                                                {"--factor-l2", options.factor_l2},
                                                                {"--layer-rate", options.layer_rate},
                                                                {"--init-scale", options.init_scale}};
  for (const auto& [name, value] : sizes) {
    if (value && !(*value >= 0 && std::isfinite(*value)))
      return {Code::kUsage, fmt::format("{} {}; expected a number from 0", name, *value)};
  }
  if (options.valid_part != 0 && !options.valid.empty()) {
    return {Code::kUsage, "--valid cannot be combined with --valid-part"};
  }
  return ok_status();
}

Status check_rates(const ModelSpec& model) {
  const auto check = [](std::string_view flag, RuleKind rule, float rate) {
    if (rule != RuleKind::kFtrl || rate > 0) return ok_status();
    return Status(Code::kUsage,
                  fmt::format("--{} 0: ftrl divides by it; expected a number above 0, or another rule, such "
                              "as adagrad, by which a rate of 0 learns nothing",
                              flag));
  };
  const RuleSpec &weights = model.weights, &factors = model.factors;
  for (const Status& status : {check("rate", weights.kind, weights.rate),
                               check("bias-rate", weights.kind, model.bias_rate.value_or(weights.rate)),
                               check("factor-rate", factors.kind, factors.rate)}) {
    if (!status.ok()) return status;
  }
  return ok_status();
}

Status check_interactions(const TrainerOptions& options, const ModelKind& kind) {
  if (options.interactions.empty()) return ok_status();
  const auto items = parse_interactions(options.interactions);
  if (!items) return items.status();
  if (kind.factors || kind.deep != nullptr) {
    return {Code::kUsage,
            fmt::format("--interactions makes no sense with --model {}, whose factors learn the "
                        "pairs of all features; expected lr",
                        kind.name)};
  }
  if (kind.dense == nullptr) return ok_status();
  return {Code::kUsage,
          fmt::format("--interactions makes no sense with --model {}, whose features are numbers "
                      "of its inputs; expected lr",
                      kind.name)};
}

Status check_shape_options(const TrainerOptions& options, const ModelKind& kind, Loss loss) {
  const bool of_text = kind.dense != nullptr && kind.dense->text != nullptr;
  const bool has_fields = kind.fields || kind.deep != nullptr;
  const bool has_classes = kind.dense != nullptr || loss == Loss::kClasses;
  const struct {
    bool given, meant;
    const char *flag, *why;
  } all[] = {
      {options.context.has_value(), of_text, "--context", "is not of text"},
      {options.layers.has_value(), of_text, "--layers", "is not of text"},
      {options.width.has_value(), of_text, "--width", "is not of text"},
      {options.heads.has_value(), of_text, "--heads", "is not of text"},
      {options.hidden.has_value(), takes_hidden(kind), "--hidden", "has no layers to size"},
      {options.layer_rate.has_value(), kind.deep != nullptr, "--layer-rate", "has no layers above factors"},
      {options.rank.has_value(), kind.factors, "--rank", "has no factors"},
      {options.factor_optimizer.has_value(), kind.factors, "--factor-optimizer", "has no factors"},
      {options.factor_rate.has_value(), kind.factors, "--factor-rate", "has no factors"},
      {options.factor_l2.has_value(), kind.factors, "--factor-l2", "has no factors"},
      {options.fields.has_value(), has_fields, "--fields", "has no fields"},
      {options.inputs.has_value(), kind.dense != nullptr, "--inputs", "is not dense"},
      {options.classes.has_value(), has_classes, "--classes", "is neither dense nor of --loss classes"}};
  for (const auto& one : all) {
    if (one.given && !one.meant)
      return {Code::kUsage,
              fmt::format("{} has no meaning with --model {}, which {}", one.flag, kind.name, one.why)};
  }
  return ok_status();
}

Status choose_loss(const TrainerOptions& options, const ModelKind& kind, ModelSpec& model) {
  const DenseDefaults* const dense = kind.dense;
  const bool of_text = dense != nullptr && dense->text != nullptr;
  model.loss = of_text ? Loss::kBytes : options.loss.value_or(dense ? Loss::kClasses : Loss::kLogistic);
  if (model.loss == Loss::kClasses && !dense && (kind.factors || kind.deep != nullptr))
    return {Code::kUsage, "--loss classes is for lr and dense models, not for --model " + model.name};
  if (model.loss == Loss::kPoisson && dense)
    return {Code::kUsage, "--loss poisson is for lr, fm, ffm and deepfm, not for --model " + model.name};
  if (model.loss == Loss::kBytes && !of_text)
    return {Code::kUsage, "the loss of bytes is for models of text, not for --model " + model.name};
  return ok_status();
}

}  // namespace thalweg
