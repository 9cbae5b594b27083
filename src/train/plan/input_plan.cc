#include "train/plan/input_plan.h"

#include <algorithm>
#include <utility>

#include "data/idx.h"
#include "data/input_words.h"
#include "data/reader/row_format.h"

namespace thalweg {
namespace {

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

}  // namespace

Status plan_inputs(const TrainerOptions& options, TrainSpec& spec) {
  auto read = read_options_of(options);
  if (!read) return read.status();
  spec.train = std::move(read).value();
  spec.train.binary_labels = spec.model.loss == Loss::kLogistic;
  spec.train.counts = spec.model.loss == Loss::kPoisson;
  if (spec.model.loss == Loss::kClasses) spec.train.classes = options.classes.value_or(0);
  const bool may_be_images = options.more.from_command.empty() && options.files.size() == 1;
  const auto images = may_be_images ? find_images(options.files.front()) : std::nullopt;
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
    if (const Status status = take_test_images(spec.valid); !status.ok()) return as_input(status);
  }
  return ok_status();
}

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

}  // namespace thalweg
