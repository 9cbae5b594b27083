#include "model/format/model_prune.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/mix.h"

namespace thalweg {
namespace {

bool is_to_stay(std::span<const float> row, float below) {
  return std::any_of(row.begin(), row.end(),
                     [&](float value) { return value != 0 && !(std::abs(value) < below); });
}

// stays(key or row number as it is written, row without state) of each row, and keep(the same, with state) of
// those that are left.
template <class Stays, class Keep>
Status for_rows_left(const ModelReader& model, std::size_t table, const Stays& stays, Keep keep) {
  const TableSpec& spec = model.manifest().tables[table].spec;
  const bool sparse = spec.kind == TableSpec::Kind::kSparse;
  return model.scan(table, true, [&](const StoredRows& block) -> Status {
    for (std::size_t i = 0; i < block.keys.size(); ++i) {
      const std::uint64_t key = sparse ? place(block.keys[i]) : block.keys[i];
      const std::span<const float> row = block.rows.subspan(i * block.width, block.width);
      if (!stays(key, row.first(spec.dim))) continue;
      if (Status status = keep(key, row); !status.ok()) return status;
    }
    return ok_status();
  });
}

// keep(key): of each row that is left. Returns how many are.
template <class Stays, class Keep>
Result<std::uint64_t> prune_table(const ModelReader& model, std::size_t table, const Stays& stays,
                                  ModelWriter& writer, Keep keep) {
  const TableManifest& stored = model.manifest().tables[table];
  std::uint64_t left = 0;
  Status status = for_rows_left(model, table, stays, [&](std::uint64_t, std::span<const float>) {
    ++left;
    return ok_status();
  });
  if (!status.ok()) return status;
  if (status = writer.begin_table(stored.spec, left, stored.spec.dim + stored.state_floats); !status.ok())
    return status;
  status = for_rows_left(model, table, stays, [&](std::uint64_t key, std::span<const float> row) {
    keep(key);
    return writer.append({&key, 1}, row);
  });
  if (status.ok()) status = writer.end_table();
  if (!status.ok()) return status;
  return left;
}

// All tables but that of ages, and of that the rows of keys that are left elsewhere.
Status prune_tables(const ModelReader& model, float below, ModelWriter& writer, Pruned& out) {
  const std::vector<TableManifest>& tables = model.manifest().tables;
  const bool aged = std::ranges::any_of(tables, is_ages_table, &TableManifest::spec);
  std::vector<std::uint64_t> keys;  // That are left, where ages are asked for.
  for (std::size_t table = 0; table < tables.size(); ++table) {
    if (is_ages_table(tables[table].spec)) continue;
    const bool sparse = tables[table].spec.kind == TableSpec::Kind::kSparse;
    const auto left = prune_table(
        model, table,
        [&](std::uint64_t, std::span<const float> row) { return !sparse || is_to_stay(row, below); }, writer,
        [&](std::uint64_t key) {
          if (sparse && aged) keys.push_back(key);
        });
    if (!left) return left.status();
    if (sparse) out.rows += *left, out.removed += tables[table].rows - *left;
  }
  std::sort(keys.begin(), keys.end());
  for (std::size_t table = 0; table < tables.size(); ++table) {
    if (!is_ages_table(tables[table].spec)) continue;
    const auto left = prune_table(
        model, table,
        [&](std::uint64_t key, std::span<const float>) {
          return std::binary_search(keys.begin(), keys.end(), key);
        },
        writer, [](std::uint64_t) {});
    if (!left) return left.status();
  }
  return ok_status();
}

}  // namespace

Result<Pruned> prune_model(const ModelReader& model, float below, Disk& disk,
                           const std::string& destination) {
  const Manifest& manifest = model.manifest();
  const bool sparse =
      std::any_of(manifest.tables.begin(), manifest.tables.end(),
                  [](const TableManifest& table) { return table.spec.kind == TableSpec::Kind::kSparse; });
  if (!sparse) {
    return Status(Code::kUsage,
                  model.path() + ": model " + manifest.model.name + " has no table of features");
  }
  const auto writer = ModelWriter::create(disk, destination);
  if (!writer) return writer.status();
  Pruned out;
  if (Status status = prune_tables(model, below, **writer, out); !status.ok()) return status;
  const Result<std::uint64_t> digest =
      (*writer)->commit(manifest.model, manifest.options, manifest.metrics, manifest.training);
  if (!digest) return digest.status();
  out.digest = *digest;
  return out;
}

}  // namespace thalweg
