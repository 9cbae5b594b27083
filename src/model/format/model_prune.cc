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

// keep(key or row number as it is written, row with state) of each row that is left.
template <class Keep>
Status for_rows_left(const ModelReader& model, std::size_t table, float below, Keep keep) {
  const TableSpec& spec = model.manifest().tables[table].spec;
  const bool sparse = spec.kind == TableSpec::Kind::kSparse;
  return model.scan(table, true, [&](const StoredRows& block) -> Status {
    for (std::size_t i = 0; i < block.keys.size(); ++i) {
      const std::span<const float> row = block.rows.subspan(i * block.width, block.width);
      if (sparse && !is_to_stay(row.first(spec.dim), below)) continue;
      if (Status status = keep(sparse ? place(block.keys[i]) : block.keys[i], row); !status.ok())
        return status;
    }
    return ok_status();
  });
}

Status prune_table(const ModelReader& model, std::size_t table, float below, ModelWriter& writer,
                   Pruned& out) {
  const TableManifest& stored = model.manifest().tables[table];
  std::uint64_t left = 0;
  Status status = for_rows_left(model, table, below, [&](std::uint64_t, std::span<const float>) {
    ++left;
    return ok_status();
  });
  if (!status.ok()) return status;
  if (status = writer.begin_table(stored.spec, left, stored.spec.dim + stored.state_floats); !status.ok())
    return status;
  status = for_rows_left(model, table, below, [&](std::uint64_t key, std::span<const float> row) {
    return writer.append({&key, 1}, row);
  });
  if (!status.ok()) return status;
  if (stored.spec.kind == TableSpec::Kind::kSparse) out.rows += left, out.removed += stored.rows - left;
  return writer.end_table();
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
  for (std::size_t table = 0; table < manifest.tables.size(); ++table) {
    if (Status status = prune_table(model, table, below, **writer, out); !status.ok()) return status;
  }
  const Result<std::uint64_t> digest =
      (*writer)->commit(manifest.model, manifest.options, manifest.metrics, manifest.training);
  if (!digest) return digest.status();
  out.digest = *digest;
  return out;
}

}  // namespace thalweg
