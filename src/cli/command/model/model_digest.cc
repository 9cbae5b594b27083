// model digest: a hash of a stored model's keys and values.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/stored_model.h"
#include "model/format/model_report.h"

namespace thalweg {
namespace {

Status run_model_digest(const Options& options, Output& out) {
  const Result<ModelReader> model = open_model(options.arguments()[0]);
  if (!model) return model.status();
  const Result<std::uint64_t> digest = model->compute_digest();
  if (!digest) return as_model(digest.status());
  if (*digest != model->manifest().digest) {
    return {Code::kModel, fmt::format("{}: the rows have digest {}, model.json says {}", model->path(),
                                      digest_text(*digest), digest_text(model->manifest().digest))};
  }
  out.human(digest_text(*digest) + "\n");
  out.json({{"digest", digest_text(*digest)}});
  return ok_status();
}

}  // namespace

extern constinit const Command kModelDigestCommand = {
    .path = "model digest",
    .summary = "Print a hash of a model's keys and values",
    .example = "thalweg model digest runs/ctr",
    .run = run_model_digest,
    .arguments = "DIR",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
