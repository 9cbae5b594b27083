#include "train/rows/key_ages.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "train/plan/algorithm_plan.h"

namespace thalweg {
Status plan_ages(const TrainerOptions& options, const ModelKind& kind, TrainSpec& spec) {
  if (options.expire_after == 0) return ok_status();
  if (kind.dense != nullptr)
    return {Code::kUsage, "--expire-after is for sparse models, not for --model " + spec.model.name};
  const auto chosen = algorithm_of(spec);
  if (!options.exchange.empty() && options.exchange == spec.exchange && chosen &&
      chosen->algorithm->group == Algorithm::Group::kIfAsked) {
    return {Code::kUsage,
            fmt::format("--expire-after makes no sense with --exchange {}, by which data shards keep rows of "
                        "their own; expected --exchange servers, or none",
                        options.exchange)};
  }
  if (has_own_state(spec)) {
    return {Code::kUsage,
            fmt::format("--expire-after makes no sense with --algorithm {}, whose data shards "
                        "keep rows of their own; expected sync, ssp, async or another by servers",
                        spec.algorithm)};
  }
  spec.expire_after = options.expire_after;
  return ok_status();
}

std::vector<TableSpec> job_tables(const TrainSpec& spec, const Model& model) {
  std::vector<TableSpec> tables = model.tables();
  if (spec.expire_after == 0) return tables;
  const auto of_keys = std::find_if(tables.begin(), tables.end(), [](const TableSpec& table) {
    return table.kind == TableSpec::Kind::kSparse;
  });
  TableSpec ages;
  ages.name = kAgesTable;
  ages.kind = TableSpec::Kind::kSparse;
  ages.dim = kAgeFloats;
  ages.ranges = of_keys->ranges;
  ages.rule.kind = RuleKind::kAssign;
  tables.push_back(std::move(ages));
  return tables;
}

std::vector<float> age_rows(std::size_t keys, Step step) {
  std::vector<float> rows(keys * kAgeFloats);
  for (std::size_t i = 0; i < keys; ++i) {
    rows[i * kAgeFloats] = static_cast<float>(step.epoch);
    rows[i * kAgeFloats + 1] = static_cast<float>(step.index);
  }
  return rows;
}

double KeyAges::steps() const {
  if (passes_.empty()) return 0;
  const EpochNumbers& last = passes_.back();
  const std::uint64_t earlier = first_pass_ * passes_.front().steps;  // About, where another run had them.
  return static_cast<double>(earlier + last.steps_before + last.steps);
}

double KeyAges::age(std::span<const float> row) const {
  if (row.empty()) return steps();
  if (row[0] == kBefore) return steps() + static_cast<double>(row[1]);
  const auto pass = static_cast<std::uint64_t>(row[0]);
  double before = 0;
  if (pass >= first_pass_ && pass - first_pass_ < passes_.size()) {
    before =
        static_cast<double>(first_pass_ * passes_.front().steps + passes_[pass - first_pass_].steps_before);
  } else if (!passes_.empty()) {
    before = static_cast<double>(pass * passes_.front().steps);
  }
  return std::max(0.0, steps() - before - static_cast<double>(row[1]) - 1);
}

std::vector<double> KeyAges::ages(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> aged,
                                  std::span<const float> rows) const {
  std::vector<double> all;
  std::size_t at = 0;
  for (const std::uint64_t key : keys) {
    while (at < aged.size() && aged[at] < key) ++at;
    const bool has = at < aged.size() && aged[at] == key;
    all.push_back(age(has ? rows.subspan(at * kAgeFloats, kAgeFloats) : std::span<const float>()));
  }
  return all;
}

}  // namespace thalweg
