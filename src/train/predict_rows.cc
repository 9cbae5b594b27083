#include <charconv>
#include <vector>

#include "data/data_set.h"
#include "data/input_words.h"
#include "model/predictor.h"
#include "net/system_disk.h"
#include "thalweg/trainer.h"

namespace thalweg {
namespace {

constexpr std::size_t kRowsAtOnce = 4096;

Status as_model_error(const Status& status) {
  return status.code() == Code::kIo ? Status(Code::kModel, status.message()) : status;
}

// How to read rows for a model: as in its training.
ReadOptions read_as_trained(const Manifest& manifest) {
  const auto stored = [&](const char* name) {
    const auto found = manifest.options.find(name);
    return found == manifest.options.end() ? std::string() : found->second;
  };
  ReadOptions read;
  const std::string bits = stored("hash-bits");
  std::from_chars(bits.data(), bits.data() + bits.size(), read.hash_bits);
  read.known_columns = stored("columns");
  read.label_column = stored("label-column");
  read.weight_column = stored("weight-column");
  read.labels_needed = false;
  return read;
}

}  // namespace

Status predict_rows(const std::string& model, const std::vector<std::string>& files,
                    const std::function<void(float prediction)>& row, const TrainParts& more) {
  const auto reader = ModelReader::open(SystemDisk(), model);
  if (!reader) return as_model_error(reader.status());
  const auto predictor = Predictor::load(*reader, more.models);
  if (!predictor) return as_model_error(predictor.status());
  const Loss loss = predictor->spec().loss;
  if (loss == Loss::kBytes)
    return {Code::kUsage, "model " + predictor->spec().name + " is of text, which has no rows to score"};
  ReadOptions read = read_as_trained(reader->manifest());
  read.paths = files;
  read.formats = more.formats;
  read.from_command = more.from_command;
  read.binary_labels = loss == Loss::kLogistic;
  const auto data = DataSet::open(std::move(read));
  if (!data) return as_input(data.status());
  const auto rows = (*data)->reader(ShardId{0}, 1);
  if (!rows) return as_input(rows.status());
  Predictor::Scratch scratch(*predictor);
  Batch batch;
  std::vector<float> scores;
  for (;;) {
    const auto count = (*rows)->next(kRowsAtOnce, batch);
    if (!count) return as_input(count.status());
    if (*count == 0) return ok_status();
    if (const auto sum = predictor->score(batch, scratch, scores); !sum) return sum.status();
    for (const float score : scores) row(predict(loss, score));
  }
}

}  // namespace thalweg
