#include "cli/work/scored_rows.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "cli/options/input.h"
#include "cli/work/stored_model.h"
#include "model/predictor.h"

namespace thalweg {
namespace {

Result<ModelReader> model_of(const Options& options) {
  if (options.has("model-dir")) return open_model(options.text("model-dir"));
  return with_hint({Code::kUsage, "--model DIR is missing"}, "train writes one with --out DIR");
}

}  // namespace

Result<Scored> score_rows(const Options& options, bool labels, const ScoreSink& sink) {
  const auto start = std::chrono::steady_clock::now();
  const Result<ModelReader> model = model_of(options);
  if (!model) return model.status();
  const Result<Predictor> predictor = Predictor::load(*model);
  if (!predictor) return as_model(predictor.status());
  Result<ReadOptions> read = read_options_for(model->manifest(), options);
  if (!read) return read.status();
  Scored scored{predictor->spec().loss};
  if (!labels && scored.loss == Loss::kBytes) {
    return with_hint(
        {Code::kUsage, "model " + predictor->spec().name + " is of text, which has no rows to score"},
        "thalweg generate --model DIR --prompt TEXT continues one; eval measures on one");
  }
  read->binary_labels = scored.loss == Loss::kLogistic;
  if (!is_of_score(scored.loss)) read->classes = predictor->spec().classes;
  read->labels_needed = labels;
  const std::int64_t threads = options.maybe_integer("threads").value_or(std::thread::hardware_concurrency());
  const Result<std::unique_ptr<InputRows>> rows = InputRows::open(*std::move(read), threads);
  if (!rows) return rows.status();
  if (Status status = check_given_columns(model->manifest(), options, (*rows)->data()); !status.ok())
    return status;
  Predictor::Scratch scratch(*predictor);
  Batch batch, targets;
  std::vector<float> scores;
  for (;;) {
    const Result<std::size_t> count = (*rows)->next(batch);
    if (!count) return count.status();
    if (*count == 0) break;
    targets.labels = batch.labels, targets.weights = batch.weights;
    const Result<LossSum> sum = predictor->score(batch, scratch, scores);
    if (!sum) return sum.status();
    if (Status status = sink({scored.loss, targets, scores, *sum}); !status.ok()) return status;
    scored.rows += *count;
  }
  scored.skipped = (*rows)->data().skipped_rows();
  if (scratch.keys() > 0) {
    scored.known_features = static_cast<double>(scratch.known_keys()) / static_cast<double>(scratch.keys());
  }
  scored.empty_files = (*rows)->data().empty_paths();
  scored.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return scored;
}

void note_oddities(const Scored& scored, Output& out) {
  constexpr double kFewFeatures = 0.01;  // Even a new day of a click log has more that are known.
  warn_of_empty_files(scored.empty_files, out);
  if (scored.skipped > 0) out.warn(fmt::format("{} bad rows were left out", scored.skipped));
  if (scored.known_features < kFewFeatures) {
    out.warn(
        fmt::format("the model knows {:.2g} % of the features of these rows; was it trained on another "
                    "format, or with other ids?",
                    scored.known_features * 100));
  }
}

}  // namespace thalweg
