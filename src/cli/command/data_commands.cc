// data check, stats, split, synth.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/command/commands.h"
#include "cli/new_file.h"
#include "cli/options/input.h"
#include "data/summary.h"
#include "data/synth.h"

namespace thalweg {
namespace {

Result<std::shared_ptr<DataSet>> open_data(const ReadOptions& read, Output& out) {
  Result<std::shared_ptr<DataSet>> data = DataSet::open(read);
  if (!data) return as_input(data.status());
  warn_of_empty_files((*data)->empty_paths(), out);
  for (const std::string& text : odd_columns(**data)) out.warn(text);
  return data;
}

Result<Summary> read_all(DataSet& data) {
  Result<Summary> summary = summarize(data);
  if (!summary) return as_input(summary.status());
  return summary;
}

const char* extension(Format format) {
  switch (format) {
    case Format::kLibffm:
      return "ffm";
    case Format::kCriteo:
      return "tsv";
    case Format::kCsv:
      return "csv";
    case Format::kAuto:
    case Format::kLibsvm:
      break;
  }
  return "svm";
}

double mean(std::uint64_t sum, std::uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

}  // namespace

Status run_data_check(const Options& options, Output& out) {
  ReadOptions read = read_options(options, options.arguments());
  const std::uint64_t allowed = std::exchange(read.max_bad_rows, std::numeric_limits<std::uint64_t>::max());
  const Result<std::shared_ptr<DataSet>> data = open_data(read, out);
  if (!data) return data.status();
  const Result<Summary> summary = read_all(**data);
  if (!summary) return summary.status();
  const std::uint64_t bad = summary->bad_rows;
  for (const std::string& message : summary->bad_row_examples) out.note(message);
  if (bad > summary->bad_row_examples.size()) out.note(fmt::format("... {} bad rows in all", bad));
  out.human(fmt::format("{}\n{} rows can be read, {} cannot\n", (*data)->description(), summary->rows, bad));
  if (bad > allowed) {
    return {Code::kData, fmt::format("{} of {} rows cannot be read, the first at {}", bad,
                                     bad + summary->rows, summary->bad_row_examples.at(0))};
  }
  if (summary->rows == 0) return {Code::kData, "no row in the input"};
  out.json({{"format", (*data)->description()}, {"rows", summary->rows}, {"bad_rows", bad}});
  return ok_status();
}

Status run_data_stats(const Options& options, Output& out) {
  const Result<std::shared_ptr<DataSet>> data = open_data(read_options(options, options.arguments()), out);
  if (!data) return data.status();
  const Result<Summary> read = read_all(**data);
  if (!read) return read.status();
  const Summary& all = *read;
  if (all.rows == 0) return {Code::kData, "no row in the input"};
  const auto line = [&](std::string_view name, const std::string& text) {
    out.human(fmt::format("{:<14} {}\n", name, text));
  };
  line("format", (*data)->description());
  line("rows", fmt::format("{}", all.rows));
  if (all.bad_rows > 0) line("bad rows", fmt::format("{}, left out", all.bad_rows));
  line("labels", fmt::format("from {:g} to {:g}; {} above 0 ({:.4g} %)", all.smallest_label,
                             all.largest_label, all.positives, 100 * mean(all.positives, all.rows)));
  line("weights", all.weighted ? "yes" : "no");
  line("entries", fmt::format("{}; a row from {} to {}, mean {:.6g}", all.entries, all.fewest_entries,
                              all.most_entries, mean(all.entries, all.rows)));
  line("values not 1", all.values_not_one == 0 ? "0"
                                               : fmt::format("{}; all from {:g} to {:g}", all.values_not_one,
                                                             all.smallest_value, all.largest_value));
  line("distinct keys", fmt::format("{}{:.0f}", all.distinct_keys_exact ? "" : "about ", all.distinct_keys));
  if (all.entries > 0) line("keys", fmt::format("from {} to {}", all.smallest_key, all.largest_key));
  if (all.fields > 0) line("fields", fmt::format("{}", all.fields));
  out.json({{"format", (*data)->description()},
            {"rows", all.rows},
            {"bad_rows", all.bad_rows},
            {"positives", all.positives},
            {"smallest_label", all.smallest_label},
            {"largest_label", all.largest_label},
            {"weighted", all.weighted},
            {"entries", all.entries},
            {"fewest_entries", all.fewest_entries},
            {"most_entries", all.most_entries},
            {"values_not_one", all.values_not_one},
            {"smallest_value",
             all.entries > 0 ? nlohmann::ordered_json(all.smallest_value) : nlohmann::ordered_json()},
            {"largest_value",
             all.entries > 0 ? nlohmann::ordered_json(all.largest_value) : nlohmann::ordered_json()},
            {"distinct_keys", std::llround(all.distinct_keys)},
            {"distinct_keys_exact", all.distinct_keys_exact},
            {"fields", all.fields}});
  return ok_status();
}

Status run_data_split(const Options& options, Output& out) {
  if (!options.has("valid-part") || !options.has("out")) {
    return with_hint({Code::kUsage, "thalweg data split needs --valid-part N and --out DIR"},
                     find_command(program_commands(), "data split")->example);
  }
  const Result<std::shared_ptr<DataSet>> data = open_data(read_options(options, options.arguments()), out);
  if (!data) return data.status();
  const std::string& directory = options.text("out");
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return {Code::kIo, fmt::format("{}: cannot be made: {}", directory, error.message())};
  NewFile train(fmt::format("{}/train.{}", directory, extension((*data)->format())));
  NewFile valid(fmt::format("{}/valid.{}", directory, extension((*data)->format())));
  for (const NewFile* file : {&train, &valid}) {
    if (Status status = is_no_input(file->path(), (*data)->paths()); !status.ok()) return status;
    if (std::filesystem::exists(file->path(), error) && !options.flag("force")) {
      return with_hint({Code::kUsage, file->path() + " is there already; expected another --out"},
                       "--force writes over it");
    }
  }
  const auto part = static_cast<std::uint64_t>(options.integer("valid-part"));
  const Result<SplitReport> report = split_rows(**data, part, train.stream(), valid.stream());
  if (!report) return report.status();
  if (Status status = train.commit(); !status.ok()) return status;
  if (Status status = valid.commit(); !status.ok()) return status;
  out.human(fmt::format("{} rows in {}\n{} rows in {}\n", report->rows_kept, train.path(),
                        report->rows_held_out, valid.path()));
  out.json({{"train_rows", report->rows_kept},
            {"train", train.path()},
            {"valid_rows", report->rows_held_out},
            {"valid", valid.path()}});
  return ok_status();
}

Status run_data_synth(const Options& options, Output& out) {
  SynthOptions wanted;
  wanted.rows = static_cast<std::uint64_t>(options.integer("rows"));
  wanted.seed = static_cast<std::uint64_t>(options.integer("seed"));
  wanted.format = *format_from_name(options.choice("synth-format").word);
  std::optional<NewFile> file;
  if (options.has("output")) {
    file.emplace(options.text("output"));
    if (Status status = file->write(""); !status.ok()) return status;
  }
  const Result<SynthReport> report = synthesize(wanted, file ? file->stream() : std::cout);
  if (!report) return report.status();
  std::cout.flush();
  if (file) {
    if (Status status = file->commit(); !status.ok()) return status;
  }
  const double rate = 100 * mean(report->positives, report->rows);
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

}  // namespace thalweg
