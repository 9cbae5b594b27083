#include "train/plan/train_plan.h"

#include <fmt/format.h>

#include "data/input_words.h"
#include "model/model_kind.h"
#include "train/plan/algorithm_plan.h"
#include "train/plan/dense_plan.h"
#include "train/plan/field_plan.h"
#include "train/plan/input_plan.h"
#include "train/plan/plan_checks.h"
#include "train/plan/row_plan.h"
#include "train/plan/rule_plan.h"
#include "train/plan/training_rows.h"
#include "train/rows/key_ages.h"
#include "train/rows/label_size.h"
#include "train/saved/best_so_far.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kBatchRowsUnknown = 1024;  // When the size of the data is not known.

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
  if (options.patience != 0 && options.keep_best == false)
    return {Code::kUsage,
            "--patience goes with --keep best, which keeps the best pass; expected not --keep last"};
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

void go_on_with(const WarmStart& start, TrainSpec& spec) {
  spec.loads = true;
  spec.loads_state = start.with_state();
  spec.begins_with = start.identity();
  spec.train.known_columns = spec.valid.known_columns = start.known_columns();
  spec.train.value_scales = spec.valid.value_scales = start.value_scales();
}

// What is to be learnt, before any row is looked at.
Result<const ModelKind*> plan_model(const TrainerOptions& options, TrainSpec& spec) {
  ModelSpec& model = spec.model;
  name_model(options.model, model);
  model.kinds = options.more.models;
  const auto kind = find_kind(model);
  if (!kind.ok()) return kind.status();
  if (Status status = choose_loss(options, **kind, model); !status.ok()) return status;
  if (Status status = (*kind)->check ? (*kind)->check(model) : ok_status(); !status.ok()) return status;
  if (Status status = check_interactions(options, **kind); !status.ok()) return status;
  if (Status status = check_shape_options(options, **kind, model.loss); !status.ok()) return status;
  model.rank = options.rank.value_or(model.rank);
  model.init_scale = options.init_scale;
  model.seed = options.seed;
  const DenseDefaults* const dense = (*kind)->dense;
  spec.epochs = options.epochs.value_or(dense ? dense->epochs : (*kind)->deep ? (*kind)->deep->epochs : 1);
  return *kind;
}

// How it is learnt, and from which rows.
Status plan_course(const TrainerOptions& options, const ModelKind& kind, TrainPlan& plan) {
  TrainSpec& spec = plan.spec;
  const auto consistency = plan_algorithm(options, kind, spec);
  if (!consistency) return consistency.status();
  plan.consistency = *consistency;
  if (Status status = check_replicas(options, *consistency); !status.ok()) return status;
  note_idle_workers(options, plan);
  const bool of_text = kind.dense != nullptr && kind.dense->text != nullptr;
  Status status = of_text ? plan_text(options, kind, spec) : plan_inputs(options, spec);
  if (status.ok()) status = plan_pipe(options, spec);
  if (status.ok()) status = choose_kept(options, plan);
  if (status.ok()) status = plan_rows(options, kind, spec);
  if (status.ok()) status = plan_ages(options, kind, spec);
  return status;
}

// Sizes and rule of a dense model. `data` is null where only the workers have it.
Status plan_dense_model(const TrainerOptions& options, const ModelKind& kind, DataSet* data,
                        TrainSpec& spec) {
  if (Status status = plan_dense(options, kind, data, spec); !status.ok()) return status;
  return plan_dense_rule(options, kind, spec);
}

// Where the workers have the data.
Status plan_without_data(const TrainerOptions& options, const ModelKind& kind, TrainPlan& plan) {
  TrainSpec& spec = plan.spec;
  if (kind.dense != nullptr) return plan_dense_model(options, kind, nullptr, spec);
  if (Status status = plan_rare_keys(options, kind, nullptr, spec); !status.ok()) return status;
  if (kind.fields && !options.fields) {
    return {Code::kUsage, "--fields must be given when the workers bring the data"};
  }
  if (kind.deep != nullptr && !options.fields) {
    plan.warnings.push_back(fmt::format(
        "{} learns without fields, since no training files are named here; --fields N says how many "
        "the workers' rows have",
        spec.model.name));
  }
  spec.model.fields = options.fields.value_or(0);
  spec.batch_rows = options.batch.value_or(kBatchRowsUnknown);
  if (Status status = choose_classes(options, nullptr, spec); !status.ok()) return status;
  if (Status status = plan_rules(options, kind, RowsSeen(), spec); !status.ok()) return status;
  plan.notes.push_back(fmt::format(
      "no training files are named here: unless options say otherwise, a step takes {} rows and rates are "
      "for {:g} entries a row; given the workers' files too, the scheduler chooses as thalweg train does",
      kBatchRowsUnknown, kUnknownEntries));
  return ok_status();
}

// Of a sparse model, what follows from its rows. `sized`: labels may be far from 1.
Status plan_sparse_model(const TrainerOptions& options, const ModelKind& kind, bool sized,
                         const std::shared_ptr<DataSet>& data, TrainPlan& plan) {
  TrainSpec& spec = plan.spec;
  if (plan.pipe && !options.batch) {
    plan.notes.push_back(
        fmt::format("a pipe's size is not known, so a step takes {} rows, where a file's size decides; "
                    "--batch N gives both the same",
                    kBatchRowsUnknown));
  }
  const auto entries = mean_entries(data);
  if (!entries) return as_input(entries.status());
  spec.batch_rows =
      options.batch.value_or(plan.pipe ? kBatchRowsUnknown : choose_batch(spec.model, kind, *entries, *data));
  if (Status status = choose_classes(options, data.get(), spec); !status.ok()) return status;
  if (spec.model.loss == Loss::kSquared) {
    std::string rounded = rounded_labels(data->label_spread());
    if (!rounded.empty()) plan.warnings.push_back(std::move(rounded));
  }
  const LabelSize size = sized ? label_size(data->label_spread(), spec.model.loss) : LabelSize();
  if (Status status = plan_rules(options, kind, {*entries, size, data->label_spread()}, spec); !status.ok())
    return status;
  if (sized && spec.model.weights.kind != RuleKind::kFtrl) {  // Whose bias begins with 0.
    std::string line = label_size_note(data->label_spread(), spec.model.loss);
    if (!line.empty()) plan.notes.push_back(std::move(line));
  }
  return kind.fields || kind.deep != nullptr ? plan_fields(options, data, kind.fields, spec) : ok_status();
}

// Where the data can be looked at.
Status plan_with_data(const TrainerOptions& options, const ModelKind& kind, const WarmStart* start,
                      TrainPlan& plan) {
  auto data = open_training(plan, start, options.raw_values);
  if (!data) return data.status();
  if (Status status = plan_rare_keys(options, kind, data->get(), plan.spec); !status.ok()) return status;
  if (kind.dense != nullptr) return plan_dense_model(options, kind, data->get(), plan.spec);
  const bool sized = has_label_size(plan.spec.model.loss) && start == nullptr;
  return plan_sparse_model(options, kind, sized, *data, plan);
}

}  // namespace

Result<TrainPlan> plan_training(const TrainerOptions& options, const WarmStart* start) {
  if (Status status = check_numbers(options); !status.ok()) return status;
  TrainPlan plan;
  const auto kind = plan_model(options, plan.spec);
  if (!kind) return kind.status();
  if (Status status = plan_course(options, **kind, plan); !status.ok()) return status;
  if (start != nullptr) go_on_with(*start, plan.spec);
  if (Status status = options.files.empty() ? plan_without_data(options, **kind, plan)
                                            : plan_with_data(options, **kind, start, plan);
      !status.ok())
    return status;
  return plan;
}

}  // namespace thalweg
