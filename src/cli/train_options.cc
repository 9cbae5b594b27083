// From command-line options to a TrainSpec: what the user left open is chosen here.
#include <fmt/format.h>

#include <algorithm>

#include "cli/input.h"
#include "cli/train_job.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kFieldsUsual = 1000;  // More than that are looked into.
constexpr double kUnknownEntries = 39;  // Those of a Criteo row stand for the entries of a row not seen.

RuleKind rule_kind(const std::string& word) {
  static constexpr std::pair<const char*, RuleKind> kKinds[] = {
      {"sgd", RuleKind::kSgd},         {"momentum", RuleKind::kMomentum}, {"nesterov", RuleKind::kNesterov},
      {"adagrad", RuleKind::kAdagrad}, {"rmsprop", RuleKind::kRmsprop},   {"adam", RuleKind::kAdam},
      {"adamw", RuleKind::kAdamW},     {"ftrl", RuleKind::kFtrl}};
  const auto found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& k) { return word == k.first; });
  return found->second;
}

// What did well on the train parts of the data sets in docs/quality.md. A gradient is the sum over a step's
// rows; the rules of the SGD family follow its size, so their rates fall with the rows.
float default_rate(RuleKind kind, const TrainSpec& spec) {
  const bool squared = spec.model.loss == Loss::kSquared;
  const float steepness = squared ? 4.0f : 1.0f;  // Of the slope; a logistic one changes by at most 1/4.
  const float per_row = 1.0f / (steepness * static_cast<float>(spec.batch_rows));
  switch (kind) {
    case RuleKind::kFtrl:
      return 0.1f;
    case RuleKind::kAdagrad:
      return squared ? 0.3f : 0.05f;
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

RuleSpec rule(RuleKind kind, double rate) {
  RuleSpec spec;
  spec.kind = kind;
  spec.rate = static_cast<float>(rate);
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
std::optional<float> default_bias_rate(const RuleSpec& weights, double entries) {
  constexpr double kEntriesEnough = 20, kMaxTimes = 20;
  const double times = kEntriesEnough / std::max(entries, 1.0);
  if (weights.kind != RuleKind::kFtrl || times <= 1) return std::nullopt;
  return static_cast<float>(weights.rate * std::min(times * times, kMaxTimes));
}

void choose_rules(const Options& options, double entries, TrainSpec& spec) {
  ModelSpec& model = spec.model;
  const auto optimizer = options.maybe_choice("optimizer");
  const auto factor_optimizer = options.maybe_choice("factor-optimizer");
  const RuleKind weights = optimizer                       ? rule_kind(optimizer->word)
                           : model.loss == Loss::kLogistic ? RuleKind::kFtrl
                                                           : RuleKind::kAdagrad;
  const RuleKind factors = factor_optimizer                          ? rule_kind(factor_optimizer->word)
                           : optimizer && weights != RuleKind::kFtrl ? weights
                                                                     : RuleKind::kAdagrad;
  model.weights = rule(weights, options.maybe_real("rate").value_or(default_rate(weights, spec)));
  model.bias_rate = options.maybe_real("bias-rate")
                        ? std::optional(static_cast<float>(options.real("bias-rate")))
                        : default_bias_rate(model.weights, entries);
  model.weights.l1 = static_cast<float>(options.maybe_real("l1").value_or(0));
  model.weights.l2 = static_cast<float>(options.maybe_real("l2").value_or(default_l2(weights)));
  model.factors =
      rule(factors, options.maybe_real("factor-rate").value_or(default_factor_rate(factors, spec, entries)));
  model.factors.l2 =
      static_cast<float>(options.maybe_real("factor-l2").value_or(default_factor_l2(factors, model.loss)));
}

// Steps should be many for small data, and large for much data, where they cost less a row. Larger steps
// touch frequent factors less often, so their penalty weighs less beside that of rare ones: fewer steps for
// clicks.
std::uint32_t choose_batch(const ModelSpec& model, double entries, std::uint64_t total_bytes) {
  constexpr double kBytesPerEntry = 8;
  const double clicks = model.name == "lr" ? 100 : 50;
  const double steps_per_pass = model.loss == Loss::kLogistic ? clicks : 200;
  const double rows = static_cast<double>(total_bytes) / (kBytesPerEntry * std::max(entries, 1.0));
  return static_cast<std::uint32_t>(std::clamp(rows / steps_per_pass, 256.0, 8192.0));
}

constexpr std::uint32_t kBatchRowsUnknown = 1024;  // When the size of the data is not known.

// Mean number of entries in the first rows.
Result<double> mean_entries(const std::shared_ptr<DataSet>& data) {
  constexpr std::size_t kRows = 1024;
  if (!data->seekable()) return data->entries_in_head() > 0 ? data->entries_in_head() : kUnknownEntries;
  auto reader = data->reader(ShardId{0}, 1);
  if (!reader) return reader.status();
  Batch batch;
  const auto rows = (*reader)->next(kRows, batch);
  if (!rows) return rows.status();
  if (*rows == 0) return kUnknownEntries;
  return static_cast<double>(batch.entries()) / static_cast<double>(*rows);
}

// One more than the largest field of the data.
Result<std::uint32_t> count_fields(const std::shared_ptr<DataSet>& data) {
  auto reader = data->reader(ShardId{0}, 1);
  if (!reader) return reader.status();
  Batch batch;
  std::uint32_t fields = 0;
  for (;;) {
    const auto rows = (*reader)->next(4096, batch);
    if (!rows) return rows.status();
    if (*rows == 0) return fields;
    for (const std::uint32_t field : batch.fields) fields = std::max(fields, field + 1);
  }
}

// The first row that has this field, for people; empty where it cannot be found again.
std::string place_of_field(DataSet& data, std::uint32_t field) {
  auto reader = data.reader(ShardId{0}, 1);
  Batch batch;
  while (reader) {
    const auto rows = (*reader)->next(1, batch);
    if (!rows || *rows == 0) break;
    if (std::find(batch.fields.begin(), batch.fields.end(), field) != batch.fields.end())
      return fmt::format("field {} at {}", field, (*reader)->place_of_last_row());
  }
  return {};
}

Status choose_inputs(const Options& options, const std::vector<std::string>& paths, TrainSpec& spec) {
  spec.train = read_options(options, paths);
  spec.train.binary_labels = spec.model.loss == Loss::kLogistic;
  if (const auto part = options.maybe_integer("valid-part")) {
    spec.train.part = Part::kTrain;
    spec.train.part_modulus = static_cast<std::uint64_t>(*part);
    spec.valid = spec.train;
    spec.valid.part = Part::kHeldOut;
  } else if (const auto valid = options.maybe_text("valid")) {
    spec.valid = spec.train;
    spec.valid.paths = {*valid};
  }
  const bool piped = std::find(paths.begin(), paths.end(), "-") != paths.end();
  if (piped && options.maybe_text("valid") == "-") {
    return Status(Code::kUsage, "standard input is named twice, as training data and by --valid");
  }
  if (piped && (spec.valid.part != Part::kAll || spec.epochs > 1)) {
    return Status(Code::kUsage,
                  "standard input can be read once only: --epochs above 1 and --valid-part need a file");
  }
  return Status::ok();
}

}  // namespace

Result<TrainPlan> plan_training(const Options& options, const std::vector<std::string>& paths) {
  TrainPlan plan;
  TrainSpec& spec = plan.spec;
  ModelSpec& model = spec.model;
  model.name = options.choice("model").word;
  model.loss = options.choice("loss").word == "squared" ? Loss::kSquared : Loss::kLogistic;
  model.rank = static_cast<std::uint32_t>(options.maybe_integer("rank").value_or(8));
  model.init_scale = static_cast<float>(options.maybe_real("init-scale").value_or(0.02));
  model.seed = static_cast<std::uint64_t>(options.integer("seed"));
  spec.epochs = static_cast<std::uint32_t>(options.integer("epochs"));
  spec.shards = static_cast<std::uint32_t>(options.maybe_integer("data-shards").value_or(8));

  if (Status status = choose_inputs(options, paths, spec); !status) return status;
  if (paths.empty()) {
    if (model.name == "ffm" && !options.has("fields")) {
      return Status(Code::kUsage, "--fields must be given when the workers bring the data");
    }
    model.fields = static_cast<std::uint32_t>(options.maybe_integer("fields").value_or(0));
    spec.batch_rows = static_cast<std::uint32_t>(options.maybe_integer("batch").value_or(kBatchRowsUnknown));
    choose_rules(options, kUnknownEntries, spec);
    plan.notes.push_back(fmt::format(
        "no training files are named here: unless options say otherwise, a step takes {} rows and rates are "
        "for {:g} entries a row; given the workers' files too, the scheduler chooses as thalweg train does",
        kBatchRowsUnknown, kUnknownEntries));
    return plan;
  }
  auto data = DataSet::open(spec.train);
  if (!data) return as_input(data.status());
  if (!(*data)->seekable()) plan.pipe = *data;
  plan.warnings = odd_columns(**data);
  if (plan.pipe && !options.has("batch")) {
    plan.notes.push_back(
        fmt::format("a pipe's size is not known, so a step takes {} rows, where a file's size decides; "
                    "--batch N gives both the same",
                    kBatchRowsUnknown));
  }
  if ((*data)->format() == Format::kCsv) {
    spec.train.known_columns = spec.valid.known_columns = columns_text((*data)->columns());
  }
  const auto entries = mean_entries(*data);
  if (!entries) return as_input(entries.status());
  spec.batch_rows = static_cast<std::uint32_t>(options.maybe_integer("batch").value_or(
      plan.pipe ? kBatchRowsUnknown : choose_batch(model, *entries, (*data)->total_bytes())));
  choose_rules(options, *entries, spec);
  if (model.name == "ffm") {
    auto fields = options.maybe_integer("fields");
    if (!fields && !(*data)->seekable()) {
      return Status(Code::kUsage, "--fields must be given when ffm reads standard input");
    }
    if (!fields) {
      const auto counted = count_fields(*data);
      if (!counted) return counted.status();
      fields = *counted;
      if (*counted > kFieldsUsual) spec.fields_from = place_of_field(**data, *counted - 1);
    }
    if (*fields == 0)
      return Status(Code::kData, "ffm needs rows with fields (libffm or criteo); this input has none");
    model.fields = static_cast<std::uint32_t>(*fields);
    if (const auto made = make_model(model); !made && !spec.fields_from.empty())
      return Status(made.status().code(), made.status().message() + "; there is " + spec.fields_from);
  }
  return plan;
}

}  // namespace thalweg
