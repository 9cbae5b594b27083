#include "train/plan/row_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "data/column/column_items.h"
#include "train/rows/key_counts.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kLabelsEnough = 100;  // That are alike, to tell of.

// Pools of all data shards take as much on every machine that has 2 GB for the job, so that bits are alike.
RowShuffle choose_order(const TrainerOptions& options, std::uint32_t shards) {
  constexpr std::uint64_t kPoolsMax = std::uint64_t{256} << 20, kPoolsPart = 8;
  if (options.shuffle == RowOrder::kFiles) return {};
  const std::uint64_t room = options.memory == 0 ? kPoolsMax : std::bit_floor(options.memory / kPoolsPart);
  return {options.shuffle, options.seed, std::max<std::uint64_t>(std::min(kPoolsMax, room) / shards, 1)};
}

// Labels of other odds than those of all rows shift each score that is learnt.
Status choose_balance(const TrainerOptions& options, const ModelKind& kind, TrainSpec& spec) {
  const float weight = options.pos_weight, part = options.negative_sample;
  if (!(weight > 0 && std::isfinite(weight)))
    return {Code::kUsage, fmt::format("--pos-weight {}; expected a number above 0", weight)};
  if (!(part > 0 && part <= 1))
    return {Code::kUsage, fmt::format("--negative-sample {}; expected a part above 0, up to 1", part)};
  if (weight == 1 && part == 1) return ok_status();
  if (spec.model.loss != Loss::kLogistic || kind.dense != nullptr) {
    return {
        Code::kUsage,
        "--pos-weight and --negative-sample balance labels of 0 and 1, by logistic loss, of sparse models"};
  }
  spec.positive_weight = weight;
  spec.kept_negatives = part;
  spec.model.score_shift = std::log(weight) - std::log(part);
  return ok_status();
}

}  // namespace

Status plan_rows(const TrainerOptions& options, const ModelKind& kind, TrainSpec& spec) {
  spec.train.shuffle = choose_order(options, spec.shards);
  return choose_balance(options, kind, spec);
}

Status plan_rare_keys(const TrainerOptions& options, const ModelKind& kind, const DataSet* data,
                      TrainSpec& spec) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 16, kMost = std::uint64_t{1} << 26;
  constexpr std::uint64_t kWidthUnknown = std::uint64_t{1} << 24, kBytesOfEntry = 8, kMemoryPart = 8;
  if (options.min_count <= 1) return ok_status();
  if (options.min_count > KeyCounts::kMost) {
    return {Code::kUsage,
            fmt::format("--min-count {}; expected up to {}", options.min_count, KeyCounts::kMost)};
  }
  if (kind.dense != nullptr)
    return {Code::kUsage, "--min-count is for sparse models, not for --model " + spec.model.name};
  if (data != nullptr && !data->seekable()) {
    return {
        Code::kUsage,
        "--min-count counts features in a pass of its own, and standard input or a pipe can be read once"};
  }
  const std::uint64_t bytes = data == nullptr ? 0 : data->total_bytes();
  std::uint64_t width =
      bytes == 0 ? kWidthUnknown : std::clamp(std::bit_ceil(bytes / kBytesOfEntry), kLeast, kMost);
  if (options.memory != 0) {
    const std::uint64_t room = std::bit_floor(options.memory / kMemoryPart / KeyCounts::kDepth);
    width = std::min(width, std::max(room, kLeast));
  }
  spec.min_count = options.min_count;
  spec.count_width = width;
  return ok_status();
}

std::uint64_t rows_without_click(const DataSet& data) {
  const LabelSpread& spread = data.label_spread();
  return spread.rows >= kLabelsEnough && spread.mean == 0 && spread.deviation == 0 ? spread.rows : 0;
}

std::string odd_labels(const DataSet& data) {
  const LabelSpread& spread = data.label_spread();
  if (spread.rows >= kLabelsEnough && spread.mean == 1 && spread.deviation == 0) {
    return fmt::format(
        "{}: each of the {} rows that were looked at has the label 1, which any features predict; expected "
        "rows without a click, too",
        data.paths().front(), spread.rows);
  }
  if (!spread.is_sorted()) return {};
  return fmt::format(
      "{}: rows are sorted, and learnt in their order: of {} parts of the data, by {} rows, the mean label "
      "ranges from {:.3g} to {:.3g}, far more than by chance; --shuffle rows mixes them",
      data.paths().front(), spread.parts, spread.rows, spread.least, spread.most);
}

Status check_named_parts(const DataSet& data) {
  const ReadOptions& options = data.options();
  if (data.format().columns || data.format().members) return ok_status();
  for (const auto& [flag, name] :
       {std::pair<const char*, const std::string&>("label", options.label_column),
        std::pair<const char*, const std::string&>("weight", options.weight_column)}) {
    if (name.empty() || name == kNoWeights) continue;
    return {
        Code::kUsage,
        fmt::format("--{}-column {}: {} is {}, whose rows have no columns of that kind; expected CSV or JSON "
                    "lines, or no --{}-column",
                    flag, name, data.paths().front(), data.format().title, flag)};
  }
  return ok_status();
}

std::vector<std::string> absent_names(const DataSet& data) {
  std::vector<std::string> lines;
  const ReadOptions& options = data.options();
  for (const std::string& name : data.absent_parts()) {
    lines.push_back(
        fmt::format("{}: no row that was looked at has features called \"{}\", which "
                    "--interactions names; expected a whole name as it stands in the rows",
                    data.paths().front(), name));
  }
  for (const std::string& name : data.absent_members()) {
    lines.push_back(
        fmt::format("{}: no row that was looked at has a value of member \"{}\", which --columns names",
                    data.paths().front(), name));
  }
  const bool members = data.format().members && options.names_weights();
  if (members && data.label_spread().rows > 0 && !data.saw_weights()) {
    lines.push_back(
        fmt::format("{}: no row that was looked at has a weight other than 1, which "
                    "--weight-column names \"{}\"",
                    data.paths().front(), options.weight_column));
  }
  return lines;
}

}  // namespace thalweg
