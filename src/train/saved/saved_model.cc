#include "thalweg/saved_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "data/column/member_kinds.h"
#include "data/data_set.h"
#include "data/idx.h"
#include "data/input_words.h"
#include "model/predictor.h"
#include "net/system_disk.h"
#include "train/rows/row_bounds.h"

namespace thalweg {
namespace {

constexpr float kNoAnswer = std::numeric_limits<float>::quiet_NaN();

constexpr std::size_t kRowsAtOnce = 4096;

Status as_model_error(const Status& status) {
  return status.code() == Code::kIo ? Status(Code::kModel, status.message()) : status;
}

// How to read rows for a model: as in its training.
ReadOptions read_as_trained(const Manifest& manifest) {
  ReadOptions read;
  read.hash_bits = manifest.hash_bits();
  read.interactions = manifest.option("interactions");
  const std::string columns = manifest.option("columns");
  (says_all_columns(columns) ? read.known_columns : read.columns) = columns;
  read.value_scales = manifest.option("value-scales");
  read.label_column = manifest.option("label-column");
  read.weight_column = manifest.option("weight-column");
  read.labels_needed = false;
  return read;
}

}  // namespace

class SavedModel::Impl {
 public:
  Impl(ModelReader its_reader, Predictor its_predictor)
      : reader(std::move(its_reader)), predictor(std::move(its_predictor)) {}
  const Manifest& manifest() const { return reader.manifest(); }

  const ModelReader reader;
  const Predictor predictor;
};

SavedModel::SavedModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
SavedModel::SavedModel(SavedModel&&) noexcept = default;
SavedModel& SavedModel::operator=(SavedModel&&) noexcept = default;
SavedModel::~SavedModel() = default;

Result<SavedModel> SavedModel::load(const std::string& directory, const TrainParts& more) {
  auto reader = ModelReader::open(SystemDisk(), directory);
  if (!reader) return as_model_error(reader.status());
  auto predictor = Predictor::load(*reader, more.models);
  if (!predictor) return as_model_error(predictor.status());
  return SavedModel(std::make_shared<const Impl>(*std::move(reader), *std::move(predictor)));
}

const std::string& SavedModel::model() const { return impl_->manifest().model.name; }
Loss SavedModel::loss() const { return impl_->manifest().model.loss; }
std::uint32_t SavedModel::classes() const {
  return loss() == Loss::kClasses ? impl_->manifest().model.classes : 0;
}
const std::map<std::string, std::string>& SavedModel::options() const { return impl_->manifest().options; }
const std::map<std::string, double>& SavedModel::metrics() const { return impl_->manifest().metrics; }
std::uint64_t SavedModel::digest() const { return impl_->manifest().digest; }

Status SavedModel::score(const std::vector<std::string>& files, const TrainParts& more, Answer answer,
                         const std::function<bool(std::span<const float>)>& rows,
                         std::uint64_t on_bad_row) const {
  const Loss loss = this->loss();
  if (loss == Loss::kBytes)
    return {Code::kUsage, "model " + model() + " is of text, which has no rows to score"};
  ReadOptions read = read_as_trained(impl_->manifest());
  read.paths = files;
  read.formats = more.formats;
  read.from_command = more.from_command;
  if (const Status status = take_test_images(read); !status.ok()) return as_input(status);
  read.command_timeout = more.command_timeout;
  read.memory = more.rows;
  read.binary_labels = loss == Loss::kLogistic;
  read.bounds = row_bounds(impl_->manifest().model);
  read.max_bad_rows = on_bad_row;
  read.answer_bad_rows = on_bad_row > 0;
  const auto data = DataSet::open(std::move(read));
  if (!data) return as_input(data.status());
  const auto reader = (*data)->reader(ShardId{0}, 1);
  if (!reader) return as_input(reader.status());
  Predictor::Scratch scratch(impl_->predictor);
  Batch batch;
  std::vector<float> scores;
  for (;;) {
    const auto count = (*reader)->next(kRowsAtOnce, batch);
    if (!count) return as_input(count.status());
    if (*count == 0) return ok_status();
    if (const auto sum = impl_->predictor.score(batch, scratch, scores); !sum) return sum.status();
    if (answer == Answer::kClassScore || answer == Answer::kClassProbability) {
      auto of_classes = answer == Answer::kClassScore ? impl_->predictor.class_scores(scratch)
                                                      : impl_->predictor.class_probabilities(scratch);
      if (!of_classes) return of_classes.status();
      scores = std::move(of_classes).value();
    }
    if (answer == Answer::kPrediction) predict_all(loss, scores);
    const std::size_t each = scores.size() / *count;
    for (const std::size_t row : (*reader)->lines().bad)
      std::fill_n(scores.begin() + static_cast<std::ptrdiff_t>(row * each), each, kNoAnswer);
    if (!rows(scores)) return {Code::kAborted, "stopped on request"};
  }
}

std::vector<SavedTable> SavedModel::tables() const {
  std::vector<SavedTable> tables;
  for (const TableManifest& table : impl_->manifest().tables) {
    tables.push_back({table.spec.name, table.spec.dim, table.rows});
  }
  return tables;
}

Status SavedModel::weights(
    std::size_t table, const std::function<void(std::span<const Key>, std::span<const float>)>& rows) const {
  THALWEG_CHECK(table < impl_->manifest().tables.size(), "a table of the model");
  return as_model_error(impl_->reader.scan(table, false, [&](const StoredRows& block) {
    rows(block.keys, block.rows);
    return ok_status();
  }));
}

Status predict_rows(const std::string& model, const std::vector<std::string>& files,
                    const std::function<void(float prediction)>& row, const TrainParts& more) {
  const auto loaded = SavedModel::load(model, more);
  if (!loaded) return loaded.status();
  return loaded->score(files, more, SavedModel::Answer::kPrediction, [&row](std::span<const float> answers) {
    for (const float answer : answers) row(answer);
    return true;
  });
}

}  // namespace thalweg
