#include "cli/options/trainer_options.h"

#include <charconv>

#include "base/rule_fields.h"
#include "cli/options/input.h"
#include "cli/options/option_rules.h"
#include "cli/work/stored_model.h"
#include "model/loss.h"

namespace thalweg {
namespace {

std::optional<float> maybe_float(const Options& options, std::string_view name) {
  const auto value = options.maybe_real(name);
  return value ? std::optional(static_cast<float>(*value)) : std::nullopt;
}

std::optional<RuleKind> maybe_rule(const Options& options, std::string_view name) {
  const auto choice = options.maybe_choice(name);
  return choice ? rule_named(choice->word) : std::nullopt;
}

std::optional<std::uint32_t> maybe_count(const Options& options, std::string_view name) {
  const auto value = options.maybe_integer(name);
  return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
}

std::optional<Loss> maybe_loss(const Options& options) {
  const auto choice = options.maybe_choice("loss");
  for (const Loss loss : {Loss::kLogistic, Loss::kSquared, Loss::kPoisson, Loss::kClasses}) {
    if (choice && choice->word == loss_name(loss)) return loss;
  }
  return std::nullopt;
}

std::optional<std::vector<std::uint32_t>> widths(const Options& options) {
  const auto text = options.maybe_text("hidden");
  if (!text) return std::nullopt;
  std::vector<std::uint32_t> out;
  for (const std::string_view word : split(*text, ',')) {
    std::uint32_t width = 0;  // The option is of whole numbers.
    (void)std::from_chars(word.data(), word.data() + word.size(), width);
    out.push_back(width);
  }
  return out;
}

Consistency consistency(const Choice& sync) {
  if (sync.word == "async") return Consistency::async();
  if (sync.word == "ssp") return Consistency::bounded(static_cast<std::uint32_t>(sync.number.value_or(0)));
  return Consistency::sync();
}

Combining combining(const Choice& combine) {
  if (combine.word == "machine") return Combining::machine();
  if (combine.word == "tree") return Combining::tree(static_cast<std::uint32_t>(*combine.number));
  return Combining::none();
}

RowOrder row_order(const Choice& shuffle) {
  if (shuffle.word == "rows") return RowOrder::kRows;
  return shuffle.word == "blocks" ? RowOrder::kBlocks : RowOrder::kFiles;
}

void set_input(const Options& options, TrainerOptions& out) {
  out.files = options.arguments();
  out.valid = options.maybe_text("valid").value_or("");
  out.valid_part = static_cast<std::uint64_t>(options.maybe_integer("valid-part").value_or(0));
  out.format = options.choice("format").word;
  out.on_bad_row = max_bad_rows(options);
  out.hash_bits = static_cast<unsigned>(options.maybe_integer("hash-bits").value_or(0));
  out.interactions = options.maybe_text("interactions").value_or("");
  out.more.from_command = options.maybe_text("from-command").value_or("");
  out.more.command_timeout = options.duration("command-timeout");
  out.columns = options.maybe_text("columns").value_or("");
  out.raw_values = options.flag("raw-values");
  out.label_column = options.maybe_text("label-column").value_or("");
  out.weight_column = options.maybe_text("weight-column").value_or("");
}

}  // namespace

TrainerOptions trainer_options(const Options& all, std::uint64_t memory) {
  const Options options = without_other_choices(all);
  TrainerOptions out;
  set_input(options, out);
  out.init = options.maybe_text("init").value_or("");
  out.init_weights_only = options.has("init-weights");
  if (out.init_weights_only) out.init = options.text("init-weights");
  if (out.init.empty() || options.origin("model") != Origin::kDefault)
    out.model = value_text(options.value("model"));
  out.loss = maybe_loss(options);
  out.inputs = maybe_count(options, "inputs");
  out.classes = maybe_count(options, "classes");
  out.hidden = widths(options);
  out.layers = maybe_count(options, "layers");
  out.width = maybe_count(options, "width");
  out.heads = maybe_count(options, "heads");
  out.context = maybe_count(options, "context");
  out.rank = maybe_count(options, "rank");
  out.fields = maybe_count(options, "fields");
  out.init_scale = maybe_float(options, "init-scale").value_or(out.init_scale);
  out.seed = static_cast<std::uint64_t>(options.integer("seed"));
  out.epochs = maybe_count(options, "epochs");
  out.shuffle = row_order(options.choice("shuffle"));
  out.min_count = maybe_count(options, "min-count").value_or(0);
  out.expire_after = maybe_count(options, "expire-after").value_or(0);
  out.pos_weight = maybe_float(options, "pos-weight").value_or(1.0f);
  out.negative_sample = maybe_float(options, "negative-sample").value_or(1.0f);
  out.batch = maybe_count(options, "batch");
  out.optimizer = maybe_rule(options, "optimizer");
  out.factor_optimizer = maybe_rule(options, "factor-optimizer");
  out.rate = maybe_float(options, "rate");
  out.bias_rate = maybe_float(options, "bias-rate");
  out.l1 = maybe_float(options, "l1");
  out.l2 = maybe_float(options, "l2");
  out.factor_rate = maybe_float(options, "factor-rate");
  out.factor_l2 = maybe_float(options, "factor-l2");
  out.layer_rate = maybe_float(options, "layer-rate");
  out.data_shards = maybe_count(options, "data-shards");
  out.algorithm = options.maybe_text("algorithm").value_or("");
  out.exchange = options.maybe_text("exchange").value_or("");
  if (out.algorithm.empty()) out.consistency = consistency(options.choice("sync"));
  out.combine = combining(options.choice("combine"));
  out.servers = maybe_count(options, "servers").value_or(0);
  out.workers = maybe_count(options, "workers").value_or(0);
  out.replicas = maybe_count(options, "replicas").value_or(0);
  out.timeout = options.duration("timeout");
  if (options.has("silence")) out.silence = options.duration("silence");
  out.grace = options.duration("grace");
  out.memory = memory;
  out.out = options.maybe_text("out").value_or("");
  out.stored = options_to_store(options, "train");
  return out;
}

}  // namespace thalweg
