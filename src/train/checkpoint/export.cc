#include "train/checkpoint/export.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_dir.h"
#include "checkpoint/contents.h"
#include "model/format/model_dir.h"
#include "net/system_disk.h"
#include "train/rows/key_ages.h"
#include "train/train_spec.h"

namespace thalweg {
namespace {

using checkpoint::BlockRows;
using checkpoint::Contents;

Result<std::uint64_t> count_rows(const Contents& contents, TableId table) {
  std::uint64_t rows = 0;
  if (!contents.is_layered()) {  // As the blocks say, unread.
    for (const Contents::Block& block : contents.rows())
      rows += block.place.table == table ? block.place.rows : 0;
    return rows;
  }
  Status counted = contents.each(table, [&](const BlockRows& some) {
    rows += some.rows.keys.size() / sizeof(std::uint64_t);
    return ok_status();
  });
  if (!counted.ok()) return counted;
  return rows;
}

Status write_table(ModelWriter& writer, const TableSpec& spec, const Contents& contents, TableId table,
                   std::uint64_t rows) {
  bool begun = false;
  Status written = contents.each(table, [&](const BlockRows& some) {
    if (!std::exchange(begun, true)) {
      if (Status status = writer.begin_table(spec, rows, some.width); !status.ok()) return status;
    }
    return writer.append(some.rows.keys.as<std::uint64_t>(), some.rows.values.as<float>());
  });
  if (!written.ok()) return written;
  if (!begun) {
    if (Status status = writer.begin_table(spec, rows, spec.dim); !status.ok()) return status;
  }
  return writer.end_table();
}

}  // namespace

Result<ExportedCheckpoint> export_checkpoint(const std::string& path, const std::string& directory) {
  SystemDisk disk;
  if (Status whole = checkpoint::verify(disk, path); !whole.ok()) return whole;
  const auto contents = Contents::open(disk, path);
  if (!contents) return contents.status();
  const auto spec = train_spec_from_text(contents->manifest().job);
  if (!spec) return spec.status();
  const auto model = make_model(spec->model);
  if (!model) return model.status();
  const std::vector<TableSpec> tables = job_tables(*spec, **model);
  if (contents->manifest().tables.size() != tables.size())
    return Status(Code::kModel, path + ": it is of other tables than its model has");
  auto writer = ModelWriter::create(disk, directory);
  if (!writer) return writer.status();
  ExportedCheckpoint out;
  for (std::uint16_t t = 0; t < tables.size(); ++t) {
    if (is_ages_table(tables[t])) continue;  // Steps of a training that is not over.
    std::uint64_t rows = tables[t].rows;
    if (tables[t].kind == TableSpec::Kind::kSparse) {
      const auto counted = count_rows(*contents, TableId{t});
      if (!counted) return counted.status();
      rows = *counted;
      out.rows += rows;
    }
    if (Status status = write_table(**writer, tables[t], *contents, TableId{t}, rows); !status.ok())
      return status;
  }
  const auto digest = (*writer)->commit(spec->model, contents->manifest().options, {});
  if (!digest) return digest.status();
  out.digest = *digest;
  return out;
}

}  // namespace thalweg
