// predict, eval: rows of the input through a stored model, in input order and constant memory.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "cli/command/commands.h"
#include "cli/command/stored_model.h"
#include "cli/new_file.h"
#include "cli/options/input.h"
#include "model/metrics.h"
#include "model/predictor.h"
#include "train/train_advice.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

struct Scored {
  Loss loss = Loss::kLogistic;
  std::uint64_t rows = 0;
  std::uint64_t skipped = 0;
  std::vector<std::string> empty_files{};
  double known_features = 1;  // Part of the distinct ones.
  double seconds = 0;
};
// Labels and weights of a batch and the raw scores of its rows.
using ScoreSink = std::function<Status(Loss, const Batch&, const std::vector<float>&)>;

Result<ModelReader> model_of(const Options& options) {
  if (options.has("model-dir")) return open_model(options.text("model-dir"));
  return with_hint({Code::kUsage, "--model DIR is missing"}, "train writes one with --out DIR");
}

// `labels`: they must be there and suit the loss.
Result<Scored> score_rows(const Options& options, bool labels, const ScoreSink& sink) {
  const auto start = std::chrono::steady_clock::now();
  const Result<ModelReader> model = model_of(options);
  if (!model) return model.status();
  const Result<Predictor> predictor = Predictor::load(*model);
  if (!predictor) return as_model(predictor.status());
  Result<ReadOptions> read = read_options_for(model->manifest(), options);
  if (!read) return read.status();
  Scored scored{predictor->spec().loss};
  read->binary_labels = scored.loss == Loss::kLogistic;
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
    if (Status status = predictor->score(batch, scratch, scores); !status.ok()) return status;
    if (Status status = sink(scored.loss, targets, scores); !status.ok()) return status;
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

ordered_json number_or_null(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
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

}  // namespace

Status run_predict(const Options& options, Output& out) {
  std::optional<NewFile> file;
  if (options.has("output")) {
    if (Status status = is_no_input(options.text("output"), options.arguments()); !status.ok()) return status;
    file.emplace(options.text("output"));
    if (Status status = file->write(""); !status.ok()) return status;
  }
  fmt::memory_buffer text;
  const auto write = [&](Loss loss, const Batch&, const std::vector<float>& scores) {
    text.clear();
    for (const float score : scores) fmt::format_to(std::back_inserter(text), "{}\n", predict(loss, score));
    const std::string_view lines(text.data(), text.size());
    if (file) return file->write(lines);
    out.text(lines);
    return out.check();
  };
  const Result<Scored> scored = score_rows(options, false, write);
  if (!scored) return scored.status();
  if (file) {
    if (Status status = file->commit(); !status.ok()) return status;
  }
  note_oddities(*scored, out);
  out.json({{"examples", scored->rows}, {"skipped_rows", scored->skipped}, {"seconds", scored->seconds}});
  return ok_status();
}

Status run_eval(const Options& options, Output& out) {
  ExactAuc auc;
  std::optional<Metrics> metrics;
  const auto add = [&](Loss loss, const Batch& rows, const std::vector<float>& scores) {
    if (!metrics) metrics.emplace(loss);
    metrics->add(scores, rows.labels, rows.weights);
    for (std::size_t row = 0; row < scores.size() && loss == Loss::kLogistic; ++row) {
      auc.add(scores[row], rows.labels[row] > 0, rows.weights.empty() ? 1.0f : rows.weights[row]);
    }
    return ok_status();
  };
  const Result<Scored> scored = score_rows(options, true, add);
  if (!scored) return scored.status();
  if (!metrics) return {Code::kData, "no row in the input"};
  note_oddities(*scored, out);
  const MetricValues values = metrics->values();
  if (const std::string text = one_label(scored->loss, values); !text.empty()) out.warn(text);
  const double area = auc.value();
  if (const std::string text = worse_than_none(standing_on("measured", scored->loss, values, area));
      !text.empty()) {
    out.warn(text);
  }
  const bool logistic = scored->loss == Loss::kLogistic;
  const auto show = [&](std::string_view name, double value) {
    if (std::isfinite(value)) out.human(fmt::format("{:<12} {:.6f}\n", name, value));
  };
  out.human(fmt::format("{:<12} {}\n", "examples", values.rows));
  if (logistic) show("auc", area);
  show("logloss", values.logloss);
  show("rmse", values.rmse);
  show("accuracy", values.accuracy);
  show("calibration", values.calibration);
  out.json({{"examples", values.rows},
            {"skipped_rows", scored->skipped},
            {"auc", logistic ? number_or_null(area) : ordered_json()},
            {"logloss", number_or_null(values.logloss)},
            {"rmse", number_or_null(values.rmse)},
            {"accuracy", number_or_null(values.accuracy)},
            {"calibration", number_or_null(values.calibration)},
            {"mean_prediction", number_or_null(values.mean_prediction)},
            {"mean_label", number_or_null(values.mean_label)},
            {"seconds", scored->seconds}});
  return ok_status();
}

}  // namespace thalweg
