#include "train/plan/dense_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/input_words.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kClassesMax = 1 << 20;

struct Sizes {
  std::uint32_t inputs = 0, classes = 0;
};

bool is_input(Key key) { return key < kInputsMax; }
bool is_class_label(float label) { return is_class(label, kClassesMax); }

// Says where the first row is that a model of classes, or a dense one, cannot take.
Status refuse_row(DataSet& data, bool of_inputs, bool of_classes) {
  auto reader = data.reader_ahead();
  Batch batch;
  while (reader) {
    const auto rows = (*reader)->next(1, batch);
    if (!rows) return rows.status();
    if (*rows == 0) break;
    const std::string place = (*reader)->place_of_last_row();
    const auto wide = std::find_if_not(batch.keys.begin(), batch.keys.end(), is_input);
    if (of_inputs && wide != batch.keys.end()) {
      return {Code::kData,
              fmt::format("{}: feature {}; a dense model takes features below {}\nhint: train with {}", place,
                          *wide, kInputsMax, kHashesInputs)};
    }
    if (!of_classes || is_class_label(batch.labels[0])) continue;
    return {
        Code::kData,
        fmt::format("{}: label {}; expected a class, a whole number from 0 to {}\nhint: --loss logistic or "
                    "squared is for other labels",
                    place, batch.labels[0], kClassesMax - 1)};
  }
  return {Code::kData, "the training data changed while it was read"};
}

// One more than the largest feature, of inputs, and label, of classes, of the data.
Result<Sizes> count_sizes(DataSet& data, bool of_inputs, bool of_classes) {
  auto reader = data.reader_ahead();
  if (!reader) return reader.status();
  Batch batch;
  Sizes sizes;
  for (;;) {
    const auto rows = (*reader)->next(1024, batch);
    if (!rows) return rows.status();
    if (*rows == 0) return sizes;
    const bool all_fit =
        (!of_inputs || std::all_of(batch.keys.begin(), batch.keys.end(), is_input)) &&
        (!of_classes || std::all_of(batch.labels.begin(), batch.labels.end(), is_class_label));
    if (!all_fit) return refuse_row(data, of_inputs, of_classes);
    for (const Key key : batch.keys) {
      if (of_inputs) sizes.inputs = std::max(sizes.inputs, static_cast<std::uint32_t>(key) + 1);
    }
    for (const float label : batch.labels) {
      if (of_classes) sizes.classes = std::max(sizes.classes, static_cast<std::uint32_t>(label) + 1);
    }
  }
}

// How many classes there are: a rare one may be among held-out rows alone, so that these count too.
Result<std::uint32_t> count_classes(std::uint32_t of_training, const TrainSpec& spec) {
  constexpr std::uint32_t kLeast = 2;
  const std::uint32_t classes = std::max(of_training, kLeast);
  if (!spec.has_valid()) return classes;
  const auto held_out = DataSet::open(spec.valid);
  if (!held_out) return as_input(held_out.status());
  if (!(*held_out)->seekable()) return classes;
  const auto counted = count_sizes(**held_out, false, true);
  if (!counted) return as_input(counted.status());
  return std::max(classes, counted->classes);
}

Status choose_sizes(const TrainerOptions& options, DataSet* data, TrainSpec& spec) {
  ModelSpec& model = spec.model;
  const bool of_classes = model.loss == Loss::kClasses;
  const std::uint32_t hashed =
      spec.train.hash_bits != 0 && spec.train.hash_bits <= 20 ? 1u << spec.train.hash_bits : 0;
  model.inputs = options.inputs.value_or(hashed);
  model.classes = of_classes ? options.classes.value_or(0) : 0;
  const bool known = model.inputs != 0 && (model.classes != 0 || !of_classes);
  if (!known && (data == nullptr || !data->seekable())) {
    return {Code::kUsage,
            fmt::format("--inputs{} must be given where the training data cannot be looked at first",
                        of_classes ? " and --classes" : "")};
  }
  if (!known) {
    const auto counted = count_sizes(*data, true, of_classes);
    if (!counted) return as_input(counted.status());
    if (model.inputs == 0) model.inputs = counted->inputs;
    if (of_classes && model.classes == 0) {
      const auto classes = count_classes(counted->classes, spec);
      if (!classes) return classes.status();
      model.classes = *classes;
    }
  }
  spec.train.classes = spec.valid.classes = model.classes;
  return ok_status();
}

// Of options that are for rows, the first that is given.
const char* option_of_rows(const TrainerOptions& options) {
  const std::pair<bool, const char*> given[] = {
      {options.inputs.has_value(), "--inputs"},
      {options.classes.has_value(), "--classes"},
      {options.format != "auto", "--format"},
      {options.hash_bits != 0, "--hash-bits"},
      {options.on_bad_row != 0, "--on-bad-row"},
      {!options.columns.empty(), "--columns"},
      {!options.label_column.empty(), "--label-column"},
      {!options.weight_column.empty(), "--weight-column"},
      {options.loss && *options.loss != Loss::kBytes, "--loss"},
  };
  for (const auto& [is_given, flag] : given) {
    if (is_given) return flag;
  }
  return nullptr;
}

}  // namespace

Status plan_text(const TrainerOptions& options, const ModelKind& kind, TrainSpec& spec) {
  if (const char* const flag = option_of_rows(options)) {
    return {Code::kUsage,
            fmt::format("{} has no meaning with --model {}, which takes any file of bytes", flag, kind.name)};
  }
  const TextDefaults& defaults = *kind.dense->text;
  ModelSpec& model = spec.model;
  model.inputs = options.context.value_or(defaults.context);
  model.classes = 256;
  model.layers = options.layers.value_or(defaults.layers);
  model.width = options.width.value_or(defaults.width);
  model.heads = options.heads.value_or(defaults.heads);
  if (Status status = kind.check(model); !status.ok()) return status;
  spec.train.paths = options.files;
  spec.train.format = "libsvm";
  spec.train.classes = model.classes;
  spec.train.text.context = model.inputs;
  spec.valid = spec.train;
  if (!options.valid.empty()) {
    spec.valid.paths = {options.valid};
    return ok_status();
  }
  const bool piped = std::find(options.files.begin(), options.files.end(), "-") != options.files.end();
  const std::uint64_t parts = options.valid_part != 0 ? options.valid_part
                              : piped                 ? 0
                                                      : defaults.held_out_part;
  if (parts == 0) {
    spec.valid.paths.clear();
    return ok_status();
  }
  spec.train.text.parts = spec.valid.text.parts = parts;
  spec.train.text.part = Part::kTrain;
  spec.valid.text.part = Part::kHeldOut;
  return ok_status();
}

Status choose_classes(const TrainerOptions& options, DataSet* data, TrainSpec& spec) {
  ModelSpec& model = spec.model;
  if (model.loss != Loss::kClasses) return ok_status();
  model.classes = options.classes.value_or(0);
  if (model.classes == 0) {
    if (data == nullptr || !data->seekable()) {
      return {Code::kUsage, "--classes must be given where the training data cannot be looked at first"};
    }
    const auto counted = count_sizes(*data, false, true);
    if (!counted) return as_input(counted.status());
    const auto classes = count_classes(counted->classes, spec);
    if (!classes) return classes.status();
    model.classes = *classes;
  }
  spec.train.classes = spec.valid.classes = model.classes;
  return ok_status();
}

Status choose_hidden(const TrainerOptions& options, std::span<const std::uint32_t> usual, ModelSpec& model) {
  for (const std::uint32_t width : options.hidden.value_or(std::vector<std::uint32_t>())) {
    if (width == 0) {
      return {Code::kUsage,
              fmt::format("--hidden {}: saw a width of 0; expected widths from 1, such as 512,512",
                          fmt::join(*options.hidden, ","))};
    }
  }
  model.hidden = options.hidden.value_or(std::vector<std::uint32_t>(usual.begin(), usual.end()));
  return ok_status();
}

Status plan_dense(const TrainerOptions& options, const ModelKind& kind, DataSet* data, TrainSpec& spec) {
  const DenseDefaults& defaults = *kind.dense;
  ModelSpec& model = spec.model;
  if (defaults.text == nullptr) {
    if (Status status = choose_sizes(options, data, spec); !status.ok()) return status;
  }
  if (Status status = choose_hidden(options, defaults.hidden, model); !status.ok()) return status;
  spec.batch_rows = options.batch.value_or(defaults.batch);
  model.weights.kind = options.optimizer.value_or(defaults.rule);
  return ok_status();
}

}  // namespace thalweg
