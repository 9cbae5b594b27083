#include "cli/score/scored_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include "cli/score/feature_names.h"
#include "cli/work/stored_model.h"
#include "data/idx.h"
#include "train/rows/row_bounds.h"

namespace thalweg {
namespace {

Result<ReadOptions> reading(const Manifest& manifest, const Options& options, const ScoreNeeds& needs) {
  Result<ReadOptions> read = read_options_for(manifest, options);
  if (!read) return read;
  const ModelSpec& model = manifest.model;
  if (const Status status = take_test_images(*read); !status.ok()) return as_input(status);
  read->binary_labels = model.loss == Loss::kLogistic;
  read->counts = model.loss == Loss::kPoisson;
  if (!is_of_score(model.loss)) read->classes = model.classes;
  read->bounds = row_bounds(model);
  read->labels_needed = needs.labels;
  read->keep_lines = needs.lines;
  read->as_it_comes = needs.as_it_comes;
  read->answer_bad_rows = needs.answer_bad;
  if (needs.answer_bad) read->max_bad_rows = std::numeric_limits<std::uint64_t>::max();
  return read;
}

}  // namespace

RowScorer::RowScorer(const ScoreNeeds& needs, Predictor predictor, std::unique_ptr<InputRows> rows)
    : needs_(needs), predictor_(std::move(predictor)), rows_(std::move(rows)), scratch_(predictor_) {
  summary_.loss = predictor_.spec().loss;
}

Result<std::unique_ptr<RowScorer>> RowScorer::open(const Options& options, const std::string& directory,
                                                   const ScoreNeeds& needs) {
  const auto start = std::chrono::steady_clock::now();
  const Result<ModelReader> model = open_model(directory);
  if (!model) return model.status();
  Result<Predictor> predictor = Predictor::load(*model);
  if (!predictor) return as_model(predictor.status());
  Result<ReadOptions> read = reading(model->manifest(), options, needs);
  if (!read) return read.status();
  if (!needs.labels && predictor->spec().loss == Loss::kBytes) {
    return with_hint(
        {Code::kUsage, "model " + predictor->spec().name + " is of text, which has no rows to score"},
        "thalweg generate --model DIR --prompt TEXT continues one; eval measures on one");
  }
  const std::int64_t threads = options.maybe_integer("threads").value_or(std::thread::hardware_concurrency());
  Result<std::unique_ptr<InputRows>> rows = InputRows::open(*std::move(read), threads);
  if (!rows) return rows.status();
  if (Status status = check_given_columns(model->manifest(), options, (*rows)->data()); !status.ok())
    return status;
  std::unique_ptr<RowScorer> out(new RowScorer(needs, *std::move(predictor), *std::move(rows)));
  out->start_ = start;
  return out;
}

Result<std::size_t> RowScorer::next() {
  const Result<std::size_t> count = rows_->next(batch_);
  if (!count || *count == 0) return count;
  targets_.labels = batch_.labels, targets_.weights = batch_.weights;
  if (needs_.lines) {
    entries_.row_begin = batch_.row_begin, entries_.keys = batch_.keys;
    entries_.values = batch_.values, entries_.fields = batch_.fields;
  }
  const Result<LossSum> sum = predictor_.score(batch_, scratch_, scores_);
  if (!sum) return sum.status();
  sum_ = *sum;
  for (const std::uint32_t row : rows_->lines().bad) scores_[row] = std::numeric_limits<float>::quiet_NaN();
  summary_.rows += *count;
  summary_.bad += rows_->lines().bad.size();
  return count;
}

void RowScorer::name_entries(std::size_t row, std::vector<std::string>& names) const {
  thalweg::name_entries(data(), entries_, rows_->lines(), row, names);
}

Scored RowScorer::summary() const {
  Scored out = summary_;
  if (!data().options().answer_bad_rows) out.skipped = data().skipped_rows();
  if (const auto bad = data().skipped_examples(); !bad.empty()) out.first_bad = bad.front();
  if (scratch_.keys() > 0) {
    out.known_features = static_cast<double>(scratch_.known_keys()) / static_cast<double>(scratch_.keys());
  }
  out.empty_files = data().empty_paths();
  out.reordered = reordered_files(data());
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return out;
}

Result<std::string> model_directory(const Options& options) {
  if (options.has("model-dir")) return options.text("model-dir");
  return no_model();
}

Status no_model() {
  return with_hint({Code::kUsage, "--model DIR is missing"}, "train writes one with --out DIR");
}

Status score_rows(RowScorer& scorer, const ScoreSink& sink) {
  for (;;) {
    const Result<std::size_t> count = scorer.next();
    if (!count) return count.status();
    if (*count == 0) return ok_status();
    if (Status status = sink(scorer.scored()); !status.ok()) return status;
  }
}

void note_oddities(const Scored& scored, Output& out, const std::string& model) {
  constexpr double kFewFeatures = 0.01;  // Even a new day of a click log has more that are known.
  warn_of_empty_files(scored.empty_files, out);
  if (!scored.reordered.empty()) out.note(scored.reordered);
  if (scored.skipped > 0) out.warn(fmt::format("{} bad rows were left out", scored.skipped));
  if (scored.bad > 0) {
    out.warn(fmt::format("{} bad rows were answered with nan, the first: {}", scored.bad, scored.first_bad));
  }
  if (scored.known_features < kFewFeatures) {
    out.warn(
        fmt::format("the model {}knows {:.2g} % of the features of these rows; was it trained on another "
                    "format, or with other ids?",
                    model.empty() ? model : model + " ", scored.known_features * 100));
  }
}

}  // namespace thalweg
