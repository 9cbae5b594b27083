// generate: text that a model of bytes goes on with.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "cli/command/command.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/stored_model.h"
#include "model/predictor.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

// One byte by softmax(scores / temperature); at 0 the likeliest.
unsigned char draw(const std::vector<float>& scores, double temperature, Random& random) {
  const auto likeliest = std::max_element(scores.begin(), scores.end());
  if (temperature == 0) return static_cast<unsigned char>(likeliest - scores.begin());
  std::vector<double> up_to(scores.size());
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    sum += std::exp(static_cast<double>(scores[i] - *likeliest) / temperature);
    up_to[i] = sum;
  }
  const auto at = std::upper_bound(up_to.begin(), up_to.end() - 1, random.unit() * sum);
  return static_cast<unsigned char>(at - up_to.begin());
}

Result<Predictor> load_text_model(const Options& options) {
  if (!options.has("model-dir"))
    return with_hint({Code::kUsage, "--model DIR is missing"}, "train writes one with --model gpt --out DIR");
  const Result<ModelReader> model = open_model(options.text("model-dir"));
  if (!model) return model.status();
  Result<Predictor> predictor = Predictor::load(*model);
  if (!predictor) return as_model(predictor.status());
  if (predictor->spec().loss == Loss::kBytes) return predictor;
  return with_hint({Code::kUsage, fmt::format("model {} is not of text; expected one that continues it",
                                              predictor->spec().name)},
                   "thalweg train --model gpt trains one on any file");
}

Status run_generate(const Options& options, Output& out) {
  const auto start = std::chrono::steady_clock::now();
  const Result<Predictor> predictor = load_text_model(options);
  if (!predictor) return predictor.status();
  const std::string prompt = options.maybe_text("prompt").value_or("\n");
  const double temperature = options.real("temperature");
  // Seeds that follow each other begin one behind the other in the same draws, unless they are split off.
  Random random = Random(static_cast<std::uint64_t>(options.integer("seed"))).split(0);
  Predictor::Scratch scratch(*predictor);
  std::string text = prompt;
  if (options.has("prompt") && !out.style().json) out.text(prompt);
  for (std::int64_t left = options.integer("bytes"); left > 0; --left) {
    text += static_cast<char>(draw(predictor->score_next_byte(text, scratch), temperature, random));
    if (!out.style().json) out.text(std::string_view(text).substr(text.size() - 1));
    if (Status status = out.check(); !status.ok()) return status;
  }
  out.human("\n");
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  out.json({{"prompt", prompt}, {"text", text.substr(prompt.size())}, {"seconds", seconds}});
  return ok_status();
}

constexpr OptionRow kGenerateRows[] = {
    {.name = "prompt",
     .type = OptionType::kText,
     .group = "Text",
     .help = "What is continued; unset begins a line",
     .example = "'ROMEO:'",
     .placeholder = "TEXT"},
    {.name = "bytes",
     .type = OptionType::kInt,
     .group = "Text",
     .help = "How many bytes follow",
     .example = "1000",
     .fallback = "500",
     .placeholder = "N",
     .low = 1,
     .high = 1e9},
    {.name = "temperature",
     .type = OptionType::kReal,
     .group = "Text",
     .help = "What scores are divided by before a byte is drawn; 0 takes the likeliest",
     .example = "0.8",
     .fallback = "1",
     .placeholder = "X",
     .low = 0,
     .high = 1e6},
};

}  // namespace

extern constinit const Command kGenerateCommand = {
    .path = "generate",
    .summary = "Continue a text by a model of text",
    .example = "thalweg generate --model shakespeare --prompt 'ROMEO:' --bytes 300",
    .run = run_generate,
    .options = {"model-dir|seed"},
    .own = kGenerateRows,
};

}  // namespace thalweg
