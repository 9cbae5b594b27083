#include "client/replica/replica.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "base/limits.h"
#include "base/range.h"
#include "client/job/custom_rules.h"
#include "table/update_rule.h"

namespace thalweg {
namespace {

// As tables take them: a dense block by its first row.
std::span<const std::uint64_t> table_keys(const Keys& keys) {
  const std::span<const std::uint64_t> values(*keys.values());
  return keys.dense() ? values.first(1) : values;
}

}  // namespace

Result<Replica> Replica::make(const std::vector<TableSpec>& tables, const CustomRules& rules,
                              bool logs_keys) {
  Replica replica;
  replica.logs_keys_ = logs_keys;
  for (const TableSpec& spec : tables) {
    auto table = make_table(spec, {0, spec.ranges}, find_rule(rules, spec.rule.custom));
    if (!table) return table.status();
    replica.tables_.push_back({std::move(table).value(), {}, {}});
  }
  return replica;
}

Status Replica::check(TableId table, const Keys& keys) const {
  if (table.value >= tables_.size()) {
    return {Code::kUsage, fmt::format("no table {}; the job has {}", table.value, tables_.size())};
  }
  const TableSpec& of = spec(table);
  if (!keys.values() || keys.dense() != is_dense(table)) {
    return {Code::kUsage,
            fmt::format("table {} takes Keys from Keys::{}()", of.name, is_dense(table) ? "block" : "of")};
  }
  const auto& values = *keys.values();
  if (!keys.dense()) return tables_[table.value].table->check_keys(values, all(of));
  if (values[0] > of.rows || values[1] > of.rows - values[0]) {
    return {Code::kUsage, fmt::format("table {} has {} rows, asked for [{}, {})", of.name, of.rows, values[0],
                                      values[0] + values[1])};
  }
  return ok_status();
}

Status Replica::check_push(TableId table, const Keys& keys, std::span<const float> grads) const {
  if (Status status = check(table, keys); !status.ok()) return status;
  const TableSpec& of = spec(table);
  if (keys.size() * of.dim != grads.size()) {
    return {Code::kUsage, fmt::format("push to {}: {} keys of {} floats need {} values, got {}", of.name,
                                      keys.size(), of.dim, keys.size() * of.dim, grads.size())};
  }
  if (grads.empty()) return ok_status();
  return tables_[table.value].table->check({table_keys(keys), grads}, all(of));
}

Rows Replica::read(TableId table, const Keys& keys) const {
  const std::size_t floats = keys.size() * spec(table).dim;
  const auto rows = std::make_shared_for_overwrite<float[]>(floats);
  if (floats > 0) tables_[table.value].table->read(table_keys(keys), {rows.get(), floats});
  return {rows, {rows.get(), floats}};
}

Rows Replica::read_shown(TableId table, const Keys& keys) const {
  if (stored_width(table) > limits::kDimMax) return read(table, keys);
  const std::size_t floats = keys.size() * stored_width(table);
  const auto rows = std::make_shared_for_overwrite<float[]>(floats);
  if (floats > 0) tables_[table.value].table->read_stored(table_keys(keys), {rows.get(), floats});
  return {rows, {rows.get(), floats}};
}

void Replica::apply(TableId table, const Keys& keys, std::span<const float> grads) {
  if (grads.empty()) return;
  const Contribution part{table_keys(keys), grads};
  if (!keys.dense() && logs_keys_) tables_[table.value].touched.add(part.keys);
  apply(table, {&part, 1});
}

void Replica::apply(TableId table, std::span<const Contribution> parts) {
  Copy& copy = tables_[table.value];
  const bool logs = logs_keys_ && !is_dense(table);
  for (std::size_t p = 0; p < parts.size() && logs; ++p) copy.changed.add(parts[p].keys);
  copy.table->apply(parts);
}

void Replica::write(TableId table, const Keys& keys, std::span<const float> rows) {
  if (rows.empty()) return;
  if (!keys.dense() && logs_keys_) tables_[table.value].changed.add(*keys.values());
  tables_[table.value].table->write(table_keys(keys), spec(table).dim, rows);
}

Status Replica::load(TableId table, std::span<const float> rows) {
  const TableSpec& of = spec(table);
  std::vector<std::uint64_t> keys;
  for (std::uint16_t range = 0; range < of.ranges; ++range) {
    const std::uint64_t begin = range_first_row(range, of.ranges, of.rows);
    keys.resize(range_first_row(range + 1u, of.ranges, of.rows) - begin);
    std::iota(keys.begin(), keys.end(), begin);
    const RowsView view{keys, rows.subspan(begin * of.dim, keys.size() * of.dim), of.dim};
    if (Status status = load(table, RangeId{range}, view); !status.ok()) return status;
  }
  return ok_status();
}

Status Replica::load(TableId table, RangeId range, const RowsView& rows) {
  if (!is_dense(table) && logs_keys_) tables_[table.value].changed.add(rows.keys);
  return tables_[table.value].table->load(range, rows);
}

std::size_t Replica::dense_floats() const {
  std::size_t floats = 0;
  for (std::uint16_t t = 0; t < tables_.size(); ++t) {
    if (is_dense(TableId{t})) floats += spec(TableId{t}).rows * stored_width(TableId{t});
  }
  return floats;
}

void Replica::read_dense(std::span<float> out) const {
  constexpr std::uint64_t kFirst[] = {0};
  for (std::uint16_t t = 0; t < tables_.size(); ++t) {
    if (!is_dense(TableId{t})) continue;
    const std::size_t floats = spec(TableId{t}).rows * stored_width(TableId{t});
    tables_[t].table->read_stored(kFirst, out.first(floats));
    out = out.subspan(floats);
  }
}

void Replica::write_dense(std::span<const float> rows) {
  constexpr std::uint64_t kFirst[] = {0};
  for (std::uint16_t t = 0; t < tables_.size(); ++t) {
    if (!is_dense(TableId{t})) continue;
    const std::size_t floats = spec(TableId{t}).rows * stored_width(TableId{t});
    tables_[t].table->write(kFirst, stored_width(TableId{t}), rows.first(floats));
    rows = rows.subspan(floats);
  }
}

void Replica::read_stored(TableId table, std::span<const std::uint64_t> keys, std::span<float> out) const {
  tables_[table.value].table->read_stored(keys, out);
}

void Replica::write_stored(TableId table, std::span<const std::uint64_t> keys, std::span<const float> rows) {
  if (logs_keys_) tables_[table.value].changed.add(keys);
  tables_[table.value].table->write(keys, stored_width(table), rows);
}

TableSpec shown_table(TableSpec table) {
  const std::size_t state = UpdateRule(table.rule, table.dim, nullptr).state_floats();
  if (table.dim + state <= limits::kDimMax) table.dim += static_cast<std::uint32_t>(state);
  table.rule.kind = RuleKind::kAssign;
  return table;
}

Rows without_state(const Rows& shown, std::size_t count, std::size_t dim) {
  const std::size_t width = count == 0 ? dim : shown.size() / count;
  if (width == dim) return shown;
  const auto rows = std::make_shared_for_overwrite<float[]>(count * dim);
  for (std::size_t i = 0; i < count; ++i)
    std::copy_n(shown.span().begin() + static_cast<std::ptrdiff_t>(i * width), dim, rows.get() + i * dim);
  return Rows(rows, {rows.get(), count * dim});
}

}  // namespace thalweg
