// data check, stats, split, synth.
#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/data_split.h"
#include "cli/data_stats.h"
#include "cli/input.h"
#include "data/synth.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

// JSON knows no NaN.
ordered_json number_or_null(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

ordered_json to_json(const Span& span, std::uint64_t count) {
  return {{"min", number_or_null(span.low)},
          {"max", number_or_null(span.high)},
          {"mean", number_or_null(span.sum / static_cast<double>(count))}};
}

std::string to_text(const Span& span, std::uint64_t count) {
  if (count == 0) return "none";
  return fmt::format("from {:g} to {:g}, mean {:.6g}", span.low, span.high,
                     span.sum / static_cast<double>(count));
}

// Reads everything. Bad rows beyond what --on-bad-row allows end it, unless all of them are wanted.
Result<std::unique_ptr<InputRows>> read_all(const Options& options, bool past_bad_rows, DataStats& stats) {
  ReadOptions read = read_options(options, options.arguments());
  if (past_bad_rows) read.max_bad_rows = std::numeric_limits<std::uint64_t>::max();
  Result<std::unique_ptr<InputRows>> rows = InputRows::open(std::move(read), 2);
  if (!rows) return rows.status();
  Batch batch;
  for (;;) {
    const Result<std::size_t> count = (*rows)->next(batch);
    if (!count) return count.status();
    if (*count == 0) return rows;
    stats.add(batch);
  }
}

}  // namespace

Status run_data_check(const Options& options, Output& out) {
  DataStats stats;
  const Result<std::unique_ptr<InputRows>> rows = read_all(options, true, stats);
  if (!rows) return rows.status();
  const DataSet& data = (*rows)->data();
  const std::uint64_t bad = data.skipped_rows();
  for (const std::string& message : data.skipped_examples()) out.note(message);
  if (bad > data.skipped_examples().size()) out.note(fmt::format("... {} bad rows in all", bad));
  out.human(fmt::format("{}\n{} rows can be read, {} cannot\n", data.description(), stats.rows(), bad));
  const auto allowed = static_cast<std::uint64_t>(options.choice("on-bad-row").number.value_or(0));
  if (bad > allowed) {
    const std::string first = data.skipped_examples().empty() ? "" : data.skipped_examples()[0];
    return {Code::kData,
            fmt::format("{} of {} rows cannot be read, the first at {}", bad, bad + stats.rows(), first)};
  }
  if (stats.rows() == 0) return {Code::kData, "no row in the input"};
  out.json({{"format", data.description()}, {"rows", stats.rows()}, {"bad_rows", bad}});
  return Status::ok();
}

Status run_data_stats(const Options& options, Output& out) {
  DataStats stats;
  const Result<std::unique_ptr<InputRows>> rows = read_all(options, false, stats);
  if (!rows) return rows.status();
  const DataSet& data = (*rows)->data();
  const std::uint64_t skipped = data.skipped_rows();
  const double positive = static_cast<double>(stats.positives()) / static_cast<double>(stats.rows());
  out.human(fmt::format("format         {}\n", data.description()));
  out.human(fmt::format("rows           {}{}\n", stats.rows(),
                        skipped > 0 ? fmt::format(", {} skipped", skipped) : ""));
  out.human(fmt::format("labels         {}; {} above 0 ({:.4g} %)\n", to_text(stats.labels(), stats.rows()),
                        stats.positives(), 100 * positive));
  out.human(fmt::format("weights        {}\n", stats.weighted() ? "yes" : "no"));
  out.human(fmt::format("entries        {}; a row {}\n", stats.entries(),
                        to_text(stats.row_entries(), stats.rows())));
  out.human(fmt::format("values         {}\n", to_text(stats.values(), stats.entries())));
  out.human(fmt::format("distinct keys  about {:.0f}\n", stats.distinct_keys()));
  if (stats.fields() > 0) out.human(fmt::format("fields         {}\n", stats.fields()));
  out.json({{"format", data.description()},
            {"rows", stats.rows()},
            {"skipped_rows", skipped},
            {"entries", stats.entries()},
            {"positives", stats.positives()},
            {"labels", to_json(stats.labels(), stats.rows())},
            {"weighted", stats.weighted()},
            {"entries_per_row", to_json(stats.row_entries(), stats.rows())},
            {"values", to_json(stats.values(), stats.entries())},
            {"distinct_keys_estimate", std::round(stats.distinct_keys())},
            {"fields", stats.fields()}});
  return Status::ok();
}

Status run_data_split(const Options& options, Output& out) {
  if (!options.has("valid-part") || !options.has("out")) {
    return with_hint({Code::kUsage, "thalweg data split needs --valid-part N and --out DIR"},
                     find_command(program_commands(), "data split")->example);
  }
  ReadOptions read = read_options(options, options.arguments());
  read.part_modulus = static_cast<std::uint64_t>(options.integer("valid-part"));
  const Result<SplitReport> report = split_rows(read, options.text("out"));
  if (!report) return report.status();
  out.human(fmt::format("{} rows in {}\n{} rows in {}\n", report->train_rows, report->train_path,
                        report->valid_rows, report->valid_path));
  out.json({{"train_rows", report->train_rows},
            {"train", report->train_path},
            {"valid_rows", report->valid_rows},
            {"valid", report->valid_path}});
  return Status::ok();
}

Status run_data_synth(const Options& options, Output& out) {
  SynthOptions wanted;
  wanted.rows = static_cast<std::uint64_t>(options.integer("rows"));
  wanted.seed = static_cast<std::uint64_t>(options.integer("seed"));
  wanted.format = *format_from_name(options.choice("synth-format").word);
  const std::optional<std::string> path = options.maybe_text("output");
  std::ofstream file;
  if (path) file.open(*path, std::ios::binary | std::ios::trunc);
  if (path && !file) return {Code::kIo, fmt::format("{}: cannot be opened: {}", *path, std::strerror(errno))};
  std::ostream& rows = path ? static_cast<std::ostream&>(file) : std::cout;
  const Result<SynthReport> report = synthesize(wanted, rows);
  if (!report) return report.status();
  if (!rows.flush()) {
    return {Code::kIo,
            fmt::format("{}: cannot be written: {}", path.value_or("standard output"), std::strerror(errno))};
  }
  const double rate = static_cast<double>(report->positives) / static_cast<double>(report->rows);
  // Standard output may be the rows themselves.
  out.note(fmt::format(
      "{} rows, {:.4g} % positive, {} ids, {} bytes; best possible auc {:.6f}, logloss {:.6f}", report->rows,
      100 * rate, report->ids, report->bytes, report->oracle_auc, report->oracle_logloss));
  out.json({{"rows", report->rows},
            {"positives", report->positives},
            {"ids", report->ids},
            {"bytes", report->bytes},
            {"oracle_auc", report->oracle_auc},
            {"oracle_logloss", report->oracle_logloss}});
  return Status::ok();
}

}  // namespace thalweg
