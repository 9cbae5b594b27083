#include "train/checkpoint/export.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_dir.h"
#include "checkpoint/part_file.h"
#include "model/format/model_dir.h"
#include "net/system_disk.h"
#include "train/rows/key_ages.h"
#include "train/train_spec.h"

namespace thalweg {
namespace {

// Of one table, whichever part has it.
struct PlacedBlock {
  const File* file = nullptr;
  checkpoint::BlockPlace place;
};

// By table, each by ascending range.
Result<std::vector<std::vector<PlacedBlock>>> blocks_of(const std::vector<std::unique_ptr<File>>& files,
                                                        std::size_t tables) {
  std::vector<std::vector<PlacedBlock>> out(tables);
  for (const auto& file : files) {
    Status scanned = checkpoint::scan_blocks(*file, tables, [&](const checkpoint::BlockPlace& place) {
      if (!checkpoint::holds_state(place)) out[place.table.value].push_back({file.get(), place});
      return ok_status();
    });
    if (!scanned.ok()) return scanned;
  }
  for (auto& table : out)
    std::ranges::stable_sort(table, {}, [](const PlacedBlock& block) { return block.place.range; });
  return out;
}

Status write_table(ModelWriter& writer, const TableSpec& spec, const std::vector<PlacedBlock>& blocks,
                   std::uint64_t rows) {
  bool begun = false;
  for (const PlacedBlock& block : blocks) {
    const auto read = checkpoint::read_rows(*block.file, block.place, spec);
    if (!read) return read.status();
    if (!std::exchange(begun, true)) {
      if (Status status = writer.begin_table(spec, rows, read->width); !status.ok()) return status;
    }
    Status status = writer.append(read->rows.keys.as<std::uint64_t>(), read->rows.values.as<float>());
    if (!status.ok()) return status;
  }
  if (!begun) {
    if (Status status = writer.begin_table(spec, rows, spec.dim); !status.ok()) return status;
  }
  return writer.end_table();
}

}  // namespace

Result<ExportedCheckpoint> export_checkpoint(const std::string& path, const std::string& directory) {
  SystemDisk disk;
  if (Status whole = checkpoint::verify(disk, path); !whole.ok()) return whole;
  const auto manifest = checkpoint::open(disk, path);
  if (!manifest) return manifest.status();
  const auto spec = train_spec_from_text(manifest->job);
  if (!spec) return spec.status();
  const auto model = make_model(spec->model);
  if (!model) return model.status();
  const std::vector<TableSpec> tables = job_tables(*spec, **model);
  std::vector<std::unique_ptr<File>> files;
  for (const checkpoint::Part& part : manifest->parts) {
    auto file = disk.open(path + "/" + part.file);
    if (!file) return file.status();
    files.push_back(*std::move(file));
  }
  const auto blocks = blocks_of(files, tables.size());
  if (!blocks) return blocks.status();
  auto writer = ModelWriter::create(disk, directory);
  if (!writer) return writer.status();
  ExportedCheckpoint out;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (is_ages_table(tables[t])) continue;  // Steps of a training that is not over.
    const bool sparse = tables[t].kind == TableSpec::Kind::kSparse;
    std::uint64_t rows = 0;
    for (const PlacedBlock& block : (*blocks)[t]) rows += block.place.rows;
    if (sparse) out.rows += rows;
    if (Status status = write_table(**writer, tables[t], (*blocks)[t], sparse ? rows : tables[t].rows);
        !status.ok())
      return status;
  }
  const auto digest = (*writer)->commit(spec->model, manifest->options, {});
  if (!digest) return digest.status();
  out.digest = *digest;
  return out;
}

}  // namespace thalweg
