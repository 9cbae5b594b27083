#include "train/train_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "data/column/member_kinds.h"
#include "data/idx.h"
#include "data/input_words.h"
#include "model/model_kind.h"
#include "train/algorithm_plan.h"
#include "train/dense_plan.h"
#include "train/plan_checks.h"
#include "train/rows/data_fields.h"
#include "train/rows/key_ages.h"
#include "train/rows/label_size.h"
#include "train/rows/row_plan.h"
#include "train/saved/best_so_far.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kFieldsUsual = 1000;  // More than that are looked into.
constexpr double kUnknownEntries = 39;  // Those of a Criteo row stand for the entries of a row not seen.

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
std::optional<float> default_bias_rate(const RuleSpec& weights, double entries, const LabelSize& labels) {
  constexpr double kEntriesEnough = 20, kMaxTimes = 20;
  if (weights.kind == RuleKind::kFtrl && labels.mean != 0)  // Its weights follow from sums alone.
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
  const double times = steps_by_rate(kind) ? std::sqrt(labels.times) : 1;
  const auto rate = static_cast<float>(default_factor_rate(kind, spec, entries) * times);
  const auto l2 = static_cast<float>(default_factor_l2(kind, spec.model.loss) * labels.times);
  spec.model.factors = rule(kind, options.factor_rate.value_or(rate));
  spec.model.factors.l2 = options.factor_l2.value_or(l2);
  const bool unsaid = options.init_scale == TrainerOptions().init_scale;
  if (unsaid && labels.times < 1) spec.model.init_scale *= static_cast<float>(std::sqrt(labels.times));
}

Status choose_rules(const TrainerOptions& options, double entries, const LabelSize& labels, TrainSpec& spec) {
  ModelSpec& model = spec.model;
  const auto algorithm = algorithm_of(spec);
  const bool ftrl = model.loss == Loss::kLogistic && algorithm && algorithm->algorithm->state;
  const RuleKind weights = options.optimizer.value_or(ftrl ? RuleKind::kFtrl : RuleKind::kAdagrad);
  const bool one_for_all = options.optimizer && weights != RuleKind::kFtrl;
  const RuleKind factors = options.factor_optimizer.value_or(one_for_all ? weights : RuleKind::kAdagrad);
  const double times = steps_by_rate(weights) ? labels.times : 1;
  const auto rate = static_cast<float>(default_rate(weights, spec) * times);
  model.weights = rule(weights, options.rate.value_or(rate));
  model.bias_rate = options.bias_rate ? options.bias_rate : default_bias_rate(model.weights, entries, labels);
  if (weights != RuleKind::kFtrl) model.bias_init = static_cast<float>(labels.mean);
  model.weights.l1 = options.l1.value_or(0);
  model.weights.l2 = options.l2.value_or(default_l2(weights));
  choose_factor_rule(options, factors, entries, labels, spec);
  return check_rates(model);
}

// Above the factors.
Status choose_layers(const TrainerOptions& options, const ModelKind& kind, ModelSpec& model) {
  if (kind.deep == nullptr) return ok_status();
  model.layers_rule = rule(RuleKind::kAdagrad, options.layer_rate.value_or(kind.deep->rate));
  return choose_hidden(options, kind, kind.deep->hidden, model);
}

// As plan_dense(), and the update rule's numbers.
Status choose_dense(const TrainerOptions& options, const ModelKind& kind, DataSet* data, TrainSpec& spec) {
  if (Status status = plan_dense(options, kind, data, spec); !status.ok()) return status;
  const RuleKind wanted = spec.model.weights.kind;
  const float rate = wanted == kind.dense->rule ? kind.dense->rate : default_rate(wanted, spec);
  spec.model.weights = rule(wanted, options.rate.value_or(rate));
  spec.model.weights.l1 = options.l1.value_or(0);
  spec.model.weights.l2 = options.l2.value_or(0);
  spec.model.factors = spec.model.weights;
  return check_rates(spec.model);
}

// Steps should be many for small data, and large for much data, where they cost less a row. Larger steps
// touch frequent factors less often, so their penalty weighs less beside that of rare ones: fewer steps for
// clicks, but layers need many, as each one changes all of them.
std::uint32_t choose_batch(const ModelSpec& model, const ModelKind& kind, double entries,
                           const DataSet& data) {
  constexpr double kBytesPerEntry = 8;
  const double clicks = kind.deep != nullptr ? 1000 : kind.factors ? 50 : 100;
  const double steps_per_pass = model.loss == Loss::kLogistic ? clicks : 200;
  const double rows = data.rows_in_memory() != 0 ? static_cast<double>(data.rows_in_memory())
                                                 : static_cast<double>(data.total_bytes()) /
                                                       (kBytesPerEntry * std::max(entries, 1.0));
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

Result<ReadOptions> read_options_of(const TrainerOptions& options) {
  const auto format = find_format(options.format, options.more.formats);
  if (!format) return format.status();
  ReadOptions read;
  read.paths = options.files;
  read.format = options.format;
  read.formats = options.more.formats;
  read.memory = options.more.rows;
  read.from_command = options.more.from_command;
  read.command_timeout = options.more.command_timeout;
  read.max_bad_rows = options.on_bad_row;
  read.hash_bits = options.hash_bits;
  read.interactions = options.interactions;
  read.columns = options.columns;
  read.label_column = options.label_column;
  read.weight_column = options.weight_column;
  return read;
}

Status choose_inputs(const TrainerOptions& options, TrainSpec& spec) {
  auto read = read_options_of(options);
  if (!read) return read.status();
  spec.train = std::move(read).value();
  spec.train.binary_labels = spec.model.loss == Loss::kLogistic;
  spec.train.counts = spec.model.loss == Loss::kPoisson;
  if (spec.model.loss == Loss::kClasses) spec.train.classes = options.classes.value_or(0);
  const auto images = options.files.size() == 1 ? find_images(options.files.front()) : std::nullopt;
  if (images) spec.train.paths = {images->train};
  if (images && options.valid.empty() && options.valid_part == 0 && !images->test.empty()) {
    spec.valid = spec.train;
    spec.valid.paths = {images->test};
  }
  if (options.valid_part != 0) {
    spec.train.part = Part::kTrain;
    spec.train.part_modulus = options.valid_part;
    spec.valid = spec.train;
    spec.valid.part = Part::kHeldOut;
  } else if (!options.valid.empty()) {
    spec.valid = spec.train;
    spec.valid.paths = {options.valid};
  }
  return ok_status();
}

// A pipe is read once.
Status plan_pipe(const TrainerOptions& options, TrainSpec& spec) {
  const auto& paths = options.files;
  const bool piped = std::find(paths.begin(), paths.end(), "-") != paths.end();
  if (piped && options.valid == "-") {
    return Status(Code::kUsage, "standard input is named twice, as training data and by --valid");
  }
  if (piped && !options.epochs) spec.epochs = 1;
  if (piped && (spec.valid.is_of_part() || spec.epochs > 1)) {
    return Status(Code::kUsage,
                  "standard input can be read once only: --epochs above 1 and --valid-part need a file");
  }
  return ok_status();
}

// Where the workers have the data.
Status choose_without_data(const TrainerOptions& options, const ModelKind& kind, TrainPlan& plan) {
  ModelSpec& model = plan.spec.model;
  if (kind.fields && !options.fields) {
    return {Code::kUsage, "--fields must be given when the workers bring the data"};
  }
  model.fields = options.fields.value_or(0);
  plan.spec.batch_rows = options.batch.value_or(kBatchRowsUnknown);
  if (Status status = choose_classes(options, nullptr, plan.spec); !status.ok()) return status;
  if (Status status = choose_rules(options, kUnknownEntries, LabelSize(), plan.spec); !status.ok())
    return status;
  begin_balanced(options, LabelSpread(), model);
  if (Status status = choose_layers(options, kind, model); !status.ok()) return status;
  plan.notes.push_back(fmt::format(
      "no training files are named here: unless options say otherwise, a step takes {} rows and rates are "
      "for {:g} entries a row; given the workers' files too, the scheduler chooses as thalweg train does",
      kBatchRowsUnknown, kUnknownEntries));
  return ok_status();
}

// `needed`: a model without any makes no sense.
Status choose_fields(const TrainerOptions& options, const std::shared_ptr<DataSet>& data, bool needed,
                     TrainSpec& spec) {
  auto fields = options.fields;
  const bool there_are = data->format().parser(spec.train, data->columns())->with_fields();
  spec.model.fields_by_place = fields && !there_are && !needed;
  if (spec.model.fields_by_place && options.min_count > 1) {
    return {Code::kUsage,
            fmt::format(
                "--min-count {} and --fields {}: rows have no fields, so that an entry's place in its row "
                "is its field, and rows without their rare features would have others in their places; "
                "expected one of the two, or rows with fields",
                options.min_count, *fields)};
  }
  if (!fields && !there_are) fields = 0;
  if (!fields && !data->seekable()) {
    return {Code::kUsage,
            fmt::format("--fields must be given when {} reads standard input", spec.model.name)};
  }
  if (!fields) {
    const auto counted = count_fields(data);
    if (!counted) return counted.status();
    fields = *counted;
    if (*counted > kFieldsUsual) spec.fields_from = place_of_field(*data, *counted - 1);
  }
  if (*fields == 0 && needed) {
    return {Code::kData,
            fmt::format("{} needs rows with fields (such as libffm); this input has none", spec.model.name)};
  }
  spec.model.fields = *fields;
  const auto made = make_model(spec.model);
  if (made || spec.fields_from.empty()) return ok_status();
  return {made.status().code(), made.status().message() + "; there is " + spec.fields_from};
}

// "fm", or "script:net.pt".
void name_model(const std::string& text, ModelSpec& model) {
  if (text.empty()) return;
  const std::size_t colon = text.find(':');
  model.name = text.substr(0, colon);
  if (colon != text.npos) model.script = text.substr(colon + 1);
}

Status check_replicas(const TrainerOptions& options, const Consistency& consistency) {
  if (options.replicas > 1 && (consistency.counts_pushes() || consistency.drops_late())) {
    return {Code::kUsage,
            "--replicas above 1 is for algorithms whose updates do not depend on which push comes "
            "first, such as sync, ssp and async"};
  }
  if (options.servers != 0 && options.replicas > options.servers) {
    return {Code::kUsage, fmt::format("--replicas {}; expected 1 to {}, as many as there are servers",
                                      options.replicas, options.servers)};
  }
  return ok_status();
}

void note_idle_workers(const TrainerOptions& options, TrainPlan& plan) {
  const std::uint32_t shards = plan.spec.shards;
  if (options.data_shards || options.workers <= shards) return;
  plan.notes.push_back(fmt::format(
      "{} workers have {} data shards, so that {} of them stand by; --data-shards {} gives each one, and "
      "another model",
      options.workers, shards, options.workers - shards, options.workers));
}

// Whether the best pass's model is kept, for which the observer must see each.
Status choose_kept(const TrainerOptions& options, TrainPlan& plan) {
  TrainSpec& spec = plan.spec;
  const bool best = options.keep_best.value_or(spec.has_valid() && BestSoFar::check(options).ok());
  if (!best && options.patience != 0)
    return {Code::kUsage, "--patience goes with --keep best, which needs held-out rows"};
  if (best && !spec.has_valid())
    return {Code::kUsage, "--keep best needs held-out rows; expected --valid or --valid-part too"};
  const CheckpointOptions& checkpoint = options.checkpoint;
  const bool goes_on = !options.state.empty() || !checkpoint.directory.empty() || !checkpoint.resume.empty();
  if (options.after_epoch && goes_on)
    return {Code::kUsage, "after_epoch: expected neither --state nor --checkpoint or --resume beside it"};
  plan.keeps_best = best && spec.epochs > 1;
  spec.shows_passes = plan.keeps_best || options.after_epoch;
  return ok_status();
}

// The training data as workers will read it; what its columns are is said and kept.
Result<std::shared_ptr<DataSet>> open_training(TrainPlan& plan, const WarmStart* start, bool raw) {
  TrainSpec& spec = plan.spec;
  ReadOptions read = spec.train;
  read.shuffle = {};
  const bool asks_order = spec.model.loss == Loss::kLogistic && spec.train.shuffle.order == RowOrder::kFiles;
  read.look_at_labels = asks_order || spec.model.loss == Loss::kSquared || !read.interactions.empty() ||
                        !read.weight_column.empty() || !read.columns.empty() || spec.model.score_shift != 0;
  read.choose_scales = true;
  read.guess_members = start == nullptr;
  read.choose_value_scales = start == nullptr && !raw;
  auto data = DataSet::open(std::move(read));
  if (!data) return as_input(data.status());
  if (const Status keys = start ? start->check_keys(**data) : ok_status(); !keys.ok()) return keys;
  if (!(*data)->seekable()) plan.pipe = *data;
  plan.warnings = odd_columns(**data);
  if (Status status = check_named_parts(**data); !status.ok()) return status;
  if (std::string odd = odd_labels(**data); asks_order && !odd.empty())
    plan.warnings.push_back(std::move(odd));
  for (std::string& line : absent_names(**data)) plan.warnings.push_back(std::move(line));
  if (std::string line = label_size_note((*data)->label_spread());
      spec.model.loss == Loss::kSquared && !line.empty())
    plan.notes.push_back(std::move(line));
  for (std::string& line : column_table(**data)) plan.notes.push_back(std::move(line));
  if (std::string line = scaled_features(**data); !line.empty()) plan.notes.push_back(std::move(line));
  spec.train.value_scales = spec.valid.value_scales = (*data)->value_scales();
  if ((*data)->format().columns) {
    spec.train.known_columns = spec.valid.known_columns = columns_text((*data)->columns());
  }
  if ((*data)->format().members) {
    for (ReadOptions* const rows : {&spec.train, &spec.valid}) {
      rows->columns = (*data)->options().columns;
      settle_members(*rows);
    }
  }
  return data;
}

void go_on_with(const WarmStart& start, TrainSpec& spec) {
  spec.loads = true;
  spec.loads_state = start.with_state();
  spec.train.known_columns = spec.valid.known_columns = start.known_columns();
  spec.train.value_scales = spec.valid.value_scales = start.value_scales();
}

}  // namespace

Result<TrainPlan> plan_training(const TrainerOptions& options, const WarmStart* start) {
  if (Status status = check_numbers(options); !status.ok()) return status;
  TrainPlan plan;
  TrainSpec& spec = plan.spec;
  ModelSpec& model = spec.model;
  name_model(options.model, model);
  model.kinds = options.more.models;
  const auto kind = find_kind(model);
  if (!kind.ok()) return kind.status();
  const DenseDefaults* const dense = (*kind)->dense;
  const bool of_text = dense != nullptr && dense->text != nullptr;
  if (Status status = choose_loss(options, **kind, model); !status.ok()) return status;
  if ((*kind)->check != nullptr) {
    if (Status status = (*kind)->check(model); !status.ok()) return status;
  }
  if (Status status = check_interactions(options, **kind); !status.ok()) return status;
  model.rank = options.rank.value_or(model.rank);
  model.init_scale = options.init_scale;
  model.seed = options.seed;
  spec.epochs = options.epochs.value_or(dense ? dense->epochs : (*kind)->deep ? (*kind)->deep->epochs : 1);
  const auto consistency = plan_algorithm(options, **kind, spec);
  if (!consistency) return consistency.status();
  plan.consistency = *consistency;
  if (Status status = check_replicas(options, *consistency); !status.ok()) return status;
  note_idle_workers(options, plan);

  Status status = of_text ? plan_text(options, **kind, spec) : choose_inputs(options, spec);
  if (status.ok()) status = plan_pipe(options, spec);
  if (status.ok()) status = choose_kept(options, plan);
  if (!status.ok()) return status;
  if (status = plan_rows(options, **kind, spec); !status.ok()) return status;
  if (status = plan_ages(options, **kind, spec); !status.ok()) return status;
  if (start != nullptr) go_on_with(*start, spec);
  if (options.files.empty() && dense) {
    if (status = choose_dense(options, **kind, nullptr, spec); !status.ok()) return status;
    return plan;
  }
  if (options.files.empty()) {
    if (status = plan_rare_keys(options, **kind, nullptr, spec); !status.ok()) return status;
    if (status = choose_without_data(options, **kind, plan); !status.ok()) return status;
    return plan;
  }
  auto data = open_training(plan, start, options.raw_values);
  if (!data) return data.status();
  if (status = plan_rare_keys(options, **kind, data->get(), spec); !status.ok()) return status;
  if (plan.pipe && !options.batch && !dense) {
    plan.notes.push_back(
        fmt::format("a pipe's size is not known, so a step takes {} rows, where a file's size decides; "
                    "--batch N gives both the same",
                    kBatchRowsUnknown));
  }
  if (dense) {
    if (status = choose_dense(options, **kind, data->get(), spec); !status.ok()) return status;
    return plan;
  }
  const auto entries = mean_entries(*data);
  if (!entries) return as_input(entries.status());
  spec.batch_rows =
      options.batch.value_or(plan.pipe ? kBatchRowsUnknown : choose_batch(model, **kind, *entries, **data));
  if (status = choose_classes(options, data->get(), spec); !status.ok()) return status;
  const bool sized = model.loss == Loss::kSquared && start == nullptr;
  const LabelSize labels = sized ? label_size((*data)->label_spread()) : LabelSize();
  if (status = choose_rules(options, *entries, labels, spec); !status.ok()) return status;
  begin_balanced(options, (*data)->label_spread(), model);
  if (status = choose_layers(options, **kind, model); !status.ok()) return status;
  if ((*kind)->fields || (*kind)->deep != nullptr) {
    if (status = choose_fields(options, *data, (*kind)->fields, spec); !status.ok()) return status;
  }
  return plan;
}

TrainerOptions chosen(TrainerOptions options, const TrainPlan& plan) {
  const TrainSpec& spec = plan.spec;
  const ModelSpec& model = spec.model;
  options.model = model.script.empty() ? model.name : model.name + ":" + model.script;
  options.rank = model.rank;
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
  options.factor_optimizer = model.factors.kind;
  options.factor_rate = model.factors.rate;
  options.factor_l2 = model.factors.l2;
  if (model.layers_rule != RuleSpec()) options.layer_rate = model.layers_rule.rate;
  return options;
}

}  // namespace thalweg
