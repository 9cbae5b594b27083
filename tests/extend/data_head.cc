// data head: the first rows of the input, as a model gets them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/input.h"
#include "cli/options/option_table.h"

namespace thalweg {
namespace {

constexpr OptionRow kOwnOptions[] = {
    {.name = "head-rows",
     .type = OptionType::kInt,
     .group = "Output",
     .help = "Rows to show",
     .example = "3",
     .fallback = "5",
     .placeholder = "N",
     .low = 1,
     .high = 1000,
     .flag = "rows"},
};

Status run_data_head(const Options& options, Output& out) {
  const auto data = DataSet::open(read_options(options, options.arguments()));
  if (!data.ok()) return as_input(data.status());
  const auto reader = (*data)->reader(ShardId{0}, 1);
  if (!reader.ok()) return as_input(reader.status());
  Batch batch;
  const auto rows = (*reader)->next(static_cast<std::size_t>(options.integer("head-rows")), batch);
  if (!rows.ok()) return as_input(rows.status());
  for (std::size_t r = 0; r < *rows; ++r) {
    out.human(
        fmt::format("{:g} with {} entries\n", batch.labels[r], batch.row_begin[r + 1] - batch.row_begin[r]));
  }
  out.json({{"rows", *rows}, {"format", (*data)->description()}});
  return ok_status();
}

}  // namespace

extern constinit const Command kDataHeadCommand = {
    .path = "data head",
    .summary = "Show the first rows of the input",
    .example = "thalweg data head clicks.svm --rows 3",
    .run = run_data_head,
    .options = {kReadOptions},
    .own = kOwnOptions,
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
