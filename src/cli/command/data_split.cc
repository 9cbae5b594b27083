// data split: every N-th row to one file, the others to another.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/new_file.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/input_data.h"

namespace thalweg {
namespace {

Status run_data_split(const Options& options, Output& out) {
  if (!options.has("valid-part") || !options.has("out")) {
    return with_hint({Code::kUsage, "thalweg data split needs --valid-part N and --out DIR"},
                     options.command().example);
  }
  ReadOptions read = read_options(options, options.arguments());
  read.keep_lines = read.answer_bad_rows = options.has("on-bad-row");
  const Result<std::shared_ptr<DataSet>> data = open_data(read, out);
  if (!data) return data.status();
  const std::string& directory = options.text("out");
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return {Code::kIo, fmt::format("{}: cannot be made: {}", directory, error.message())};
  NewFile train(fmt::format("{}/train.{}", directory, (*data)->format().ending));
  NewFile valid(fmt::format("{}/valid.{}", directory, (*data)->format().ending));
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
  if (report->rows_held_out == 0)
    out.warn(fmt::format("{} has no rows: --valid-part {} holds out each {}-th row, and there are {}",
                         valid.path(), part, part, report->rows_kept));
  out.human(fmt::format("{} rows in {}\n{} rows in {}\n", report->rows_kept, train.path(),
                        report->rows_held_out, valid.path()));
  if (report->rows_left_out > 0) out.human(fmt::format("{} bad rows left out\n", report->rows_left_out));
  out.json({{"train_rows", report->rows_kept},
            {"train", train.path()},
            {"valid_rows", report->rows_held_out},
            {"valid", valid.path()},
            {"skipped_rows", report->rows_left_out}});
  return ok_status();
}

}  // namespace

extern constinit const Command kDataSplitCommand = {
    .path = "data split",
    .summary = "Write every N-th row to one file and the others to another",
    .example = "thalweg data split clicks.svm --valid-part 10 --out parts",
    .run = run_data_split,
    .options = {kReadOptions, "from-command|command-timeout|valid-part|out|force"},
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
