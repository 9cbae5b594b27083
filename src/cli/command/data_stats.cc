// data stats: what rows, labels and features there are.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/input_data.h"

namespace thalweg {
namespace {

double mean(std::uint64_t sum, std::uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
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

}  // namespace

extern constinit const Command kDataStatsCommand = {
    .path = "data stats",
    .summary = "Count rows, features, labels and distinct keys",
    .example = "thalweg data stats 'day_*.tsv.zst' --format criteo",
    .run = run_data_stats,
    .options = {kReadOptions, "from-command|command-timeout"},
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
