// data check: reads every row and reports the bad ones.
#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/input_data.h"

namespace thalweg {
namespace {

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

}  // namespace

extern constinit const Command kDataCheckCommand = {
    .path = "data check",
    .summary = "Read every row and report those that cannot be read",
    .example = "thalweg data check clicks.svm.gz",
    .run = run_data_check,
    .options = {kReadOptions, "from-command|command-timeout"},
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
