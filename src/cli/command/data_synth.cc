// data synth: rows in the shape of click logs, from a seed.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command/command.h"
#include "cli/new_file.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "data/synth.h"

namespace thalweg {
namespace {

constexpr OptionRow kSynthOptions[] = {
    {.name = "day",
     .type = OptionType::kInt,
     .group = "Training",
     .help = "Rows of another day, whose hidden model has drifted from the day before's; 0 is the first",
     .example = "1",
     .fallback = "0",
     .placeholder = "N",
     .low = 0,
     .high = 10000},
};

Status run_data_synth(const Options& options, Output& out) {
  SynthOptions wanted;
  wanted.rows = static_cast<std::uint64_t>(options.integer("rows"));
  wanted.seed = static_cast<std::uint64_t>(options.integer("seed"));
  wanted.day = static_cast<std::uint32_t>(options.integer("day"));
  wanted.format = options.choice("synth-format").word;
  std::optional<NewFile> file;
  if (options.has("output")) {
    if (Status status = is_no_packed_name(options.text("output"), "rows", "data synth"); !status.ok())
      return status;
    file.emplace(options.text("output"));
    if (Status status = file->write(""); !status.ok()) return status;
  }
  const Result<SynthReport> report = synthesize(wanted, file ? file->stream() : std::cout);
  if (!report) return report.status();
  std::cout.flush();
  if (file) {
    if (Status status = file->commit(); !status.ok()) return status;
  }
  const double rate =
      100 * static_cast<double>(report->positives) / static_cast<double>(report->rows);  // At least one.
  // Standard output may be the rows themselves.
  out.note(fmt::format(
      "{} rows, {:.4g} % positive, {} ids, {} bytes; best possible auc {:.6f}, logloss {:.6f}", report->rows,
      rate, report->ids, report->bytes, report->oracle_auc, report->oracle_logloss));
  out.json({{"rows", report->rows},
            {"positives", report->positives},
            {"ids", report->ids},
            {"bytes", report->bytes},
            {"oracle_auc", report->oracle_auc},
            {"oracle_logloss", report->oracle_logloss}});
  return ok_status();
}

}  // namespace

extern constinit const Command kDataSynthCommand = {
    .path = "data synth",
    .summary = "Make a data set in the shape of Criteo's click logs from a seed",
    .example = "thalweg data synth --rows 1000000 --seed 7 -o clicks.svm",
    .run = run_data_synth,
    .options = {"seed|output|synth-format|rows"},
    .own = kSynthOptions,
};

}  // namespace thalweg
