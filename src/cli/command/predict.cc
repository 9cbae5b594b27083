// predict: one prediction a line.
#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command/command.h"
#include "cli/new_file.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/scored_rows.h"

namespace thalweg {
namespace {

Status run_predict(const Options& options, Output& out) {
  std::optional<NewFile> file;
  if (options.has("output")) {
    if (Status status = is_no_input(options.text("output"), options.arguments()); !status.ok()) return status;
    file.emplace(options.text("output"));
    if (Status status = file->write(""); !status.ok()) return status;
  }
  fmt::memory_buffer text;
  const auto write = [&](const ScoredRows& scored) {
    text.clear();
    for (const float score : scored.scores) {
      fmt::format_to(std::back_inserter(text), "{}\n", predict(scored.loss, score));
    }
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

}  // namespace

extern constinit const Command kPredictCommand = {
    .path = "predict",
    .summary = "Score each row of the input with a model, one prediction a line",
    .example = "thalweg predict --model runs/ctr test.svm -o scores.txt",
    .run = run_predict,
    .options = {kReadOptions, "from-command|threads|model-dir|output"},
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
