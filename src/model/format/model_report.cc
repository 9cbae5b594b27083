#include "model/format/model_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/mix.h"
#include "base/rule_fields.h"
#include "model/model_kind.h"

namespace thalweg {
namespace {

Result<TableSummary> summarize(const ModelReader& model, std::size_t t) {
  const TableManifest& table = model.manifest().tables[t];
  TableSummary out{table.spec.name, table.rows, table.spec.dim, table.state_floats, table.bytes};
  double sum = 0, squares = 0;
  const Status status = model.scan(t, false, [&](const StoredRows& block) {
    for (std::size_t i = 0; i < block.rows.size(); i += block.width) {
      bool zero = true;
      for (const float value : block.rows.subspan(i, block.width)) {
        const double wide = static_cast<double>(value);
        sum += wide;
        squares += wide * wide;
        out.max_abs = std::max(out.max_abs, std::fabs(wide));
        zero &= value == 0.0f;
      }
      out.zero_rows += zero;
    }
    return ok_status();
  });
  if (!status.ok()) return status;
  const double count = std::max(1.0, static_cast<double>(table.rows) * table.spec.dim);
  out.mean = sum / count;
  out.rms = std::sqrt(squares / count);
  return out;
}

// One row at a time of a table.
class RowWalk {
 public:
  RowWalk(const ModelReader& model, std::size_t table)
      : cursor_(model.rows(table)),
        sparse_(model.manifest().tables[table].spec.kind == TableSpec::Kind::kSparse) {}

  // Moves to the next row; false at the end or on an error, which status() tells.
  bool advance() {
    if (++index_ < block_.keys.size()) return true;
    Result<StoredRows> block = cursor_.next();
    if (!block) status_ = block.status();
    block_ = block ? *block : StoredRows{};
    index_ = 0;
    return !block_.keys.empty();
  }
  std::uint64_t order() const { return sparse_ ? place(block_.keys[index_]) : block_.keys[index_]; }
  std::span<const float> row() const { return block_.rows.subspan(index_ * block_.width, block_.width); }
  const Status& status() const { return status_; }

 private:
  ModelReader::Cursor cursor_;
  bool sparse_;
  StoredRows block_;
  std::size_t index_ = 0;
  Status status_;
};

void compare_rows(std::span<const float> left, std::span<const float> right, TableDiff& out) {
  ++out.common_keys;
  if (std::memcmp(left.data(), right.data(), left.size_bytes()) == 0) return;
  ++out.different_rows;
  for (std::size_t f = 0; f < left.size(); ++f) {
    const double difference = std::fabs(static_cast<double>(left[f]) - static_cast<double>(right[f]));
    if (!(difference <= out.max_abs_difference)) out.max_abs_difference = difference;
  }
}

Result<TableDiff> diff_table(const ModelReader& left, std::size_t l, const ModelReader& right,
                             std::size_t r) {
  const TableSpec& a = left.manifest().tables[l].spec;
  const TableSpec& b = right.manifest().tables[r].spec;
  if (a.dim != b.dim || a.kind != b.kind) {
    return Status(Code::kUsage,
                  fmt::format("table {} has rows of {} floats in {} and of {} in {}, or another kind", a.name,
                              a.dim, left.path(), b.dim, right.path()));
  }
  TableDiff out;
  out.name = a.name;
  RowWalk from_left(left, l), from_right(right, r);
  bool has_left = from_left.advance(), has_right = from_right.advance();
  while (has_left || has_right) {
    if (!has_right || (has_left && from_left.order() < from_right.order())) {
      ++out.only_left;
      has_left = from_left.advance();
    } else if (!has_left || from_right.order() < from_left.order()) {
      ++out.only_right;
      has_right = from_right.advance();
    } else {
      compare_rows(from_left.row(), from_right.row(), out);
      has_left = from_left.advance();
      has_right = from_right.advance();
    }
  }
  if (!from_left.status().ok()) return from_left.status();
  if (!from_right.status().ok()) return from_right.status();
  return out;
}

std::optional<std::size_t> find_table(const ModelReader& model, const std::string& name) {
  const auto& tables = model.manifest().tables;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (tables[t].spec.name == name) return t;
  }
  return std::nullopt;
}

}  // namespace

Result<ModelSummary> inspect_model(const ModelReader& model) {
  ModelSummary out{model.manifest(), {}};
  for (std::size_t t = 0; t < out.manifest.tables.size(); ++t) {
    Result<TableSummary> table = summarize(model, t);
    if (!table) return table.status();
    out.tables.push_back(std::move(*table));
  }
  return out;
}

std::string to_text(const TrainingRecord& record) {
  constexpr std::size_t kFilesShown = 10;
  const std::string part =
      record.learnt_epochs < record.epochs ? fmt::format("{} of ", record.learnt_epochs) : "";
  std::string out = fmt::format("trained  {}, {}{} epochs, {} rows a step over {} data shards", record.date,
                                part, record.epochs, record.batch, record.data_shards);
  if (record.best_epoch != 0) out += fmt::format("; epoch {} was best", record.best_epoch);
  out += record.kept_epoch == 0 ? "\n" : fmt::format("; model of epoch {}\n", record.kept_epoch);
  for (std::size_t f = 0; f < std::min(record.files.size(), kFilesShown); ++f) {
    const TrainedFile& file = record.files[f];
    out += file.head.empty() ? fmt::format("file     {}\n", file.name)
                             : fmt::format("file     {}, {} bytes, head {}, tail {}\n", file.name, file.bytes,
                                           file.head, file.tail);
  }
  const std::uint64_t more = record.files.size() - std::min(record.files.size(), kFilesShown);
  if (more + record.files_left_out != 0)
    out += fmt::format("         and {} more\n", more + record.files_left_out);
  return out;
}

std::string to_text(const ModelSummary& summary) {
  const Manifest& manifest = summary.manifest;
  const ModelSpec& model = manifest.model;
  std::string out = fmt::format("model    {}, {} loss", model.name, loss_name(model.loss));
  const auto kind = find_kind(model);
  if (!kind.ok() || (*kind)->factors) out += fmt::format(", rank {}", model.rank);
  if (model.fields != 0)
    out += fmt::format(", {} fields{}", model.fields, model.fields_by_place ? " by place" : "");
  out += fmt::format("\ndigest   {}\nwritten  by version {}, format {}\n", digest_text(manifest.digest),
                     manifest.library_version, kModelFormatVersion);
  std::size_t widest = 12;
  for (const TableSummary& table : summary.tables) widest = std::max(widest, table.name.size());
  out += fmt::format("\n{:<{}} {:>12} {:>6} {:>6} {:>12} {:>12} {:>12} {:>12} {:>12}  {}\n", "table", widest,
                     "rows", "dim", "state", "bytes", "zero rows", "mean", "rms", "max abs", "rule");
  for (std::size_t t = 0; t < summary.tables.size(); ++t) {
    const TableSummary& table = summary.tables[t];
    out +=
        fmt::format("{:<{}} {:>12} {:>6} {:>6} {:>12} {:>12} {:>12.5g} {:>12.5g} {:>12.5g}  {}\n", table.name,
                    widest, table.rows, table.dim, table.state_floats, table.bytes, table.zero_rows,
                    table.mean, table.rms, table.max_abs, rule_name(manifest.tables[t].spec.rule.kind));
  }
  if (manifest.training) out += "\n" + to_text(*manifest.training);
  if (!manifest.metrics.empty()) out += "\nmetrics\n";
  for (const auto& [name, value] : manifest.metrics) out += fmt::format("  {:<24} {:.6g}\n", name, value);
  if (!manifest.options.empty()) out += "\noptions\n";
  for (const auto& [name, value] : manifest.options) out += fmt::format("  {:<24} {}\n", name, value);
  return out;
}

bool ModelDiff::equal() const {
  return only_left.empty() && only_right.empty() &&
         std::all_of(tables.begin(), tables.end(), [](const TableDiff& t) {
           return t.only_left == 0 && t.only_right == 0 && t.different_rows == 0;
         });
}

Result<ModelDiff> diff_models(const ModelReader& left, const ModelReader& right) {
  ModelDiff out;
  for (std::size_t l = 0; l < left.manifest().tables.size(); ++l) {
    const std::string& name = left.manifest().tables[l].spec.name;
    const std::optional<std::size_t> r = find_table(right, name);
    if (!r) {
      out.only_left.push_back(name);
      continue;
    }
    Result<TableDiff> table = diff_table(left, l, right, *r);
    if (!table) return table.status();
    out.tables.push_back(std::move(*table));
  }
  for (const TableManifest& table : right.manifest().tables) {
    if (!find_table(left, table.spec.name)) out.only_right.push_back(table.spec.name);
  }
  return out;
}

std::string to_text(const ModelDiff& diff) {
  std::size_t widest = 12;
  for (const TableDiff& table : diff.tables) widest = std::max(widest, table.name.size());
  std::string out = fmt::format("{:<{}} {:>12} {:>12} {:>12} {:>14} {:>14}\n", "table", widest, "common",
                                "only left", "only right", "different rows", "max abs diff");
  for (const TableDiff& table : diff.tables) {
    out +=
        fmt::format("{:<{}} {:>12} {:>12} {:>12} {:>14} {:>14.6g}\n", table.name, widest, table.common_keys,
                    table.only_left, table.only_right, table.different_rows, table.max_abs_difference);
  }
  for (const std::string& name : diff.only_left) out += "table only in the left model: " + name + "\n";
  for (const std::string& name : diff.only_right) out += "table only in the right model: " + name + "\n";
  return out + (diff.equal() ? "equal\n" : "different\n");
}

}  // namespace thalweg
