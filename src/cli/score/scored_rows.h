// Rows of the input through a stored model, in input order and constant memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/options/input.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "model/loss.h"
#include "model/predictor.h"
#include "thalweg/batch.h"
#include "thalweg/status.h"

namespace thalweg {

struct Scored {
  Loss loss = Loss::kLogistic;
  std::uint64_t rows = 0;     // With the bad ones that were answered.
  std::uint64_t skipped = 0;  // Bad rows that were left out.
  std::uint64_t bad = 0;      // Those that were not.
  std::string first_bad{};    // Where it is and what is wrong with it.
  std::vector<std::string> empty_files{};
  std::string reordered{};    // See reordered_files().
  double known_features = 1;  // Part of the distinct ones.
  double seconds = 0;
};
// Labels and weights of a batch, the raw scores of its rows, and, unless is_of_score(loss), the sum of their
// losses.
struct ScoredRows {
  Loss loss;
  const Batch& rows;
  const std::vector<float>& scores;
  LossSum sum;
  const RowLines& lines;
};
using ScoreSink = std::function<Status(const ScoredRows&)>;

// How rows are read that are to be scored.
struct ScoreNeeds {
  bool labels = false;      // They must be there and suit the loss.
  bool lines = false;       // Of the rows, in ScoredRows::lines.
  bool answer_bad = false;  // A bad row is scored NaN, and named in ScoredRows::lines.
  bool as_it_comes = false;
};

// One thread, but for what it reads ahead.
class RowScorer {
 public:
  // The model of `directory` and the input of the options' arguments.
  static Result<std::unique_ptr<RowScorer>> open(const Options& options, const std::string& directory,
                                                 const ScoreNeeds& needs);
  // Number of rows, 0 at the end.
  Result<std::size_t> next();
  ScoredRows scored() const { return {summary_.loss, targets_, scores_, sum_, rows_->lines()}; }
  const DataSet& data() const { return rows_->data(); }
  // Of one of these rows, and the names of its entries; needs ScoreNeeds::lines.
  Predictor::Terms terms(std::size_t row) const { return predictor_.terms(scratch_, row, scores_[row]); }
  // Of each class of each of these rows, in turn, its probability, or the score that it is made of. kUsage:
  // the model is not of classes.
  Result<std::vector<float>> classes(bool probabilities) {
    return probabilities ? predictor_.class_probabilities(scratch_) : predictor_.class_scores(scratch_);
  }
  void name_entries(std::size_t row, std::vector<std::string>& names) const;
  const Predictor& predictor() const { return predictor_; }
  Scored summary() const;  // Of the rows so far.

 private:
  RowScorer(const ScoreNeeds& needs, Predictor predictor, std::unique_ptr<InputRows> rows);

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  ScoreNeeds needs_;
  Predictor predictor_;
  std::unique_ptr<InputRows> rows_;
  Predictor::Scratch scratch_;
  Scored summary_;
  Batch batch_, targets_;
  Batch entries_;  // Where they have names: all but labels and weights.
  std::vector<float> scores_;
  LossSum sum_;
};

// The directory that --model names. kUsage where it names none.
Result<std::string> model_directory(const Options& options);
Status no_model();  // Then.
// All rows of the input to `sink`.
Status score_rows(RowScorer& scorer, const ScoreSink& sink);
// `model`: its name, where there are several.
void note_oddities(const Scored& scored, Output& out, const std::string& model = {});

}  // namespace thalweg
