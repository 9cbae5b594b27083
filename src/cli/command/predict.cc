// predict: one prediction a line.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command/command.h"
#include "cli/new_file.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/score/scored_rows.h"
#include "cli/view/output.h"
#include "data/reader/line_cells.h"

namespace thalweg {
namespace {

constexpr OptionRow kPredictOptions[] = {
    {.name = "audit",
     .type = OptionType::kFlag,
     .group = "Output",
     .help = "Behind each prediction the terms of its score, of classes that of the class: name, value, "
             "weight and their product, by tabs",
     .example = ""},
    {.name = "probabilities",
     .type = OptionType::kFlag,
     .group = "Output",
     .help = "Of a model of classes the probability of each class, commas between; with --raw its score",
     .example = ""},
    {.name = "raw",
     .type = OptionType::kFlag,
     .group = "Output",
     .help = "Scores instead of predictions: of logistic loss the log-odds",
     .example = ""},
    {.name = "id-column",
     .type = OptionType::kText,
     .group = "Output",
     .help = "Column of a CSV file, or member of JSON lines, whose text begins each line",
     .example = "id",
     .placeholder = "NAME"},
    {.name = "keep-columns",
     .type = OptionType::kText,
     .group = "Output",
     .help =
         "Columns of a CSV file, or members of JSON lines, that stand before the prediction, commas between",
     .example = "user,item",
     .placeholder = "NAME,...",
     .flag = "keep"},
};

// Where lines go: standard output, or a file that is there when it is complete.
class Answers {
 public:
  explicit Answers(Output& out) : out_(out) {}
  Status open(const Options& options) {
    if (!options.has("output")) return ok_status();
    if (Status status = is_no_input(options.text("output"), options.arguments()); !status.ok()) return status;
    if (Status status = is_no_packed_name(options.text("output"), "predictions", "predict"); !status.ok())
      return status;
    file_.emplace(options.text("output"));
    return file_->write("");
  }
  // `now`: who reads them waits.
  Status write(std::string_view lines, bool now) {
    if (file_) return file_->write(lines);
    out_.text(lines);
    if (now) std::fflush(out_.results());
    return out_.check();
  }
  Status close() { return file_ ? file_->commit() : ok_status(); }

 private:
  Output& out_;
  std::optional<NewFile> file_;
};

Result<std::optional<LineCells>> copied_cells(const Options& options, const DataSet& data) {
  std::optional<LineCells> cells;
  std::vector<std::string> names;
  if (options.has("id-column")) {
    names.push_back(options.text("id-column"));
    if (const auto id = LineCells::find(data, names, "--id-column"); !id) return id.status();
  }
  if (options.has("keep-columns")) {
    const Result<std::vector<std::string>> kept = parse_column_names(options.text("keep-columns"), "--keep");
    if (!kept) return kept.status();
    if (const auto found = LineCells::find(data, *kept, "--keep"); !found) return found.status();
    names.insert(names.end(), kept->begin(), kept->end());
  }
  if (names.empty()) return cells;
  Result<LineCells> all =
      LineCells::find(data, names, options.has("id-column") ? "--id-column and --keep" : "--keep");
  if (!all) return all.status();
  cells = *std::move(all);
  return cells;
}

// A tab, then name, value, weight and contribution, a term a line; they add up to the score.
void append_terms(const RowScorer& scorer, std::size_t row, std::string& text) {
  const Predictor::Terms terms = scorer.terms(row);
  std::vector<std::string> names;
  scorer.name_entries(row, names);
  const auto to = std::back_inserter(text);
  fmt::format_to(to, "\tbias\t1\t{0}\t{0}\n", terms.bias);
  for (std::size_t e = 0; e < names.size(); ++e) {
    const float part = terms.weights[e] * terms.values[e];
    fmt::format_to(to, "\t{}\t{}\t{}\t{}\n", names[e], terms.values[e], terms.weights[e], part);
  }
  if (terms.rest) fmt::format_to(to, "\tinteractions\t\t\t{}\n", *terms.rest);
}

// The numbers of one row, commas between; of a bad one as many times nan.
void append_classes(std::span<const float> numbers, bool bad, std::string& text) {
  for (std::size_t c = 0; c < numbers.size(); ++c) {
    const float number = bad ? std::numeric_limits<float>::quiet_NaN() : numbers[c];
    fmt::format_to(std::back_inserter(text), "{}{}", c == 0 ? "" : ",", number);
  }
  text += '\n';
}

// Appends to `text`. `classes`: the numbers of each row's classes; empty: rows are answered by their scores.
void append_lines(const RowScorer& scorer, const Options& options, std::optional<LineCells>& cells,
                  std::span<const float> classes, std::string& text) {
  const ScoredRows scored = scorer.scored();
  const std::size_t each = classes.size() / std::max<std::size_t>(scored.scores.size(), 1);
  const bool raw = options.flag("raw"), audit = options.flag("audit");
  std::vector<float> told = scored.scores;
  if (!raw) predict_all(scored.loss, told);
  for (std::size_t row = 0; row < told.size(); ++row) {
    if (cells) {
      for (const std::string& cell : cells->of(scored.lines.line(row))) {
        append_csv_cell(cell, text);
        text += ',';
      }
    }
    const float score = scored.scores[row];
    if (each > 0) {
      append_classes(classes.subspan(row * each, each), std::isnan(score), text);
      continue;
    }
    std::array<char, 32> line;
    text.append(line.data(), fmt::format_to(line.data(), FMT_COMPILE("{}\n"), told[row]));
    if (audit && !std::isnan(score)) append_terms(scorer, row, text);
  }
}

Status run_predict(const Options& options, Output& out) {
  const Result<std::string> model = model_directory(options);
  if (!model) return model.status();
  Answers answers(out);
  if (Status status = answers.open(options); !status.ok()) return status;
  const ScoreNeeds needs{
      .lines = options.has("id-column") || options.has("keep-columns") || options.flag("audit"),
      .answer_bad = !options.has("on-bad-row"),
      .as_it_comes = true};
  const Result<std::unique_ptr<RowScorer>> scorer = RowScorer::open(options, *model, needs);
  if (!scorer) return scorer.status();
  const DataSet& data = (*scorer)->data();
  Result<std::optional<LineCells>> cells = copied_cells(options, data);
  if (!cells) return cells.status();
  if (options.flag("audit") && (*scorer)->predictor().is_dense()) {
    return {Code::kUsage, fmt::format("--audit: the score of model {} is no sum of terms of features",
                                      (*scorer)->predictor().spec().name)};
  }
  const bool by_class = options.flag("probabilities");
  if (by_class && options.flag("audit"))
    return {Code::kUsage, "--audit tells the terms of a single score; leave out --probabilities"};
  std::string text;
  Status status = score_rows(**scorer, [&](const ScoredRows&) -> Status {
    Result<std::vector<float>> classes = std::vector<float>();
    if (by_class) classes = (*scorer)->classes(!options.flag("raw"));
    if (!classes) return classes.status();
    text.clear();
    append_lines(**scorer, options, *cells, *classes, text);
    return answers.write(text, !data.seekable());
  });
  if (!status.ok()) return status;
  const Scored all = (*scorer)->summary();
  if (all.bad > 0 && all.bad == all.rows) {
    return {Code::kData, fmt::format("none of {} rows can be read: {}", all.rows, all.first_bad)};
  }
  if (status = *cells ? (*cells)->check_members() : ok_status(); !status.ok()) return status;
  if (status = answers.close(); !status.ok()) return status;
  note_oddities(all, out);
  out.json({{"examples", all.rows},
            {"skipped_rows", all.skipped},
            {"bad_rows", all.bad},
            {"seconds", all.seconds}});
  return ok_status();
}

}  // namespace

extern constinit const Command kPredictCommand = {
    .path = "predict",
    .summary = "Score each row of the input with a model, one prediction a line",
    .example = "thalweg predict --model runs/ctr test.svm -o scores.txt",
    .run = run_predict,
    .options = {kReadOptions, "from-command|command-timeout|threads|model-dir|output"},
    .own = kPredictOptions,
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
