#include "model/format/model_export.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>
#include <vector>

#include "model/format/file.h"
#include "model/format/npz.h"
#include "model/format/safetensors.h"
#include "model/format/vw_readable.h"
#include "model/model_kind.h"

namespace thalweg {
namespace {

// Streams one of a table's arrays: its keys or its rows.
template <class Write>
Status stream_array(const ModelReader& model, std::size_t table, bool keys, Write write) {
  return model.scan(table, false, [&](const StoredRows& block) {
    return keys ? write(bytes_of(block.keys)) : write(bytes_of(block.rows));
  });
}

using Shape = std::vector<std::uint64_t>;

// What a model of tensors says about those that are stored, and what it has besides.
struct Shaped {
  std::vector<Shape> shapes;  // Of each table; empty where it is no tensor of a dense model.
  std::unique_ptr<Model> model;
  std::vector<FixedTensor> fixed;
};

Result<Shaped> shaped_of(const ModelReader& model) {
  const Manifest& manifest = model.manifest();
  Shaped out{std::vector<Shape>(manifest.tables.size()), nullptr, {}};
  const auto kind = find_kind(manifest.model);
  if (!kind || ((*kind)->dense == nullptr && (*kind)->deep == nullptr)) return out;
  auto made = make_model(manifest.model);
  if (!made) return made.status();
  out.model = *std::move(made);
  const std::vector<TableSpec> tables = out.model->tables();
  for (std::size_t t = 0; t < tables.size(); ++t) {
    for (std::size_t stored = 0; stored < out.shapes.size(); ++stored) {
      const TableSpec& spec = manifest.tables[stored].spec;
      if (spec.name == tables[t].name && spec.dim == tables[t].dim && spec.rows == tables[t].rows) {
        out.shapes[stored] = out.model->tensor_shape(t);
      }
    }
  }
  auto fixed = out.model->fixed();
  if (!fixed) return fixed.status();
  out.fixed = *std::move(fixed);
  return out;
}

using Write = std::function<Status(std::span<const std::byte>)>;
using WriteArray = std::function<Status(const Write&)>;

// The arrays of all tables, named TABLE.keys and TABLE.rows, and then what is not learnt; visit(tensor, what
// writes its bytes).
template <class Visit>
Status for_arrays(const ModelReader& model, const Shaped& shaped, Visit visit) {
  for (std::size_t t = 0; t < model.manifest().tables.size(); ++t) {
    const TableManifest& table = model.manifest().tables[t];
    for (TensorInfo& tensor : table_tensors(table.spec, table.rows, 0)) {
      const bool keys = tensor.name == "keys";
      const Shape& shape = shaped.shapes[t];
      tensor.name = table.spec.name + (shape.empty() ? "." + tensor.name : "");
      if (!shape.empty()) tensor.shape.assign(shape.begin(), shape.end());
      const WriteArray write_array = [&](const Write& write) { return stream_array(model, t, keys, write); };
      if (Status status = visit(tensor, write_array); !status.ok()) return status;
    }
  }
  for (const FixedTensor& fixed : shaped.fixed) {
    const WriteArray write_array = [&](const Write& write) { return write(fixed.bytes); };
    if (Status status = visit({fixed.name, fixed.dtype, fixed.shape}, write_array); !status.ok())
      return status;
  }
  return ok_status();
}

Status write_safetensors(const ModelReader& model, File& file) {
  const Result<Shaped> shaped = shaped_of(model);
  if (!shaped) return shaped.status();
  std::vector<TensorInfo> tensors;
  Status status = for_arrays(model, *shaped, [&](const TensorInfo& tensor, const WriteArray&) {
    tensors.push_back(tensor);
    return ok_status();
  });
  if (!status.ok()) return status;
  const std::string header = safetensors_header(tensors, {{"thalweg", to_json(model.manifest())}});
  FileStream stream(file);
  if (status = stream.write(bytes_of(header)); !status.ok()) return status;
  status = for_arrays(model, *shaped, [&](const TensorInfo&, const WriteArray& write_array) {
    return write_array([&](std::span<const std::byte> bytes) { return stream.write(bytes); });
  });
  return status.ok() ? stream.flush() : status;
}

Status write_npz(const ModelReader& model, File& file) {
  const Result<Shaped> shaped = shaped_of(model);
  if (!shaped) return shaped.status();
  NpzWriter npz(file);
  const Status status =
      for_arrays(model, *shaped, [&](const TensorInfo& tensor, const WriteArray& write_array) {
        if (Status begun = npz.begin_array(tensor.name, tensor.dtype, tensor.shape); !begun.ok())
          return begun;
        Status written = write_array([&](std::span<const std::byte> bytes) { return npz.write(bytes); });
        return written.ok() ? npz.end_array() : written;
      });
  return status.ok() ? npz.finish() : status;
}

void append_float(std::string& line, float value) {
  char text[32];
  line.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

Status write_text_table(const ModelReader& model, std::size_t t, Disk& disk, const std::string& path) {
  const std::size_t dim = model.manifest().tables[t].spec.dim;
  std::vector<Key> keys;
  std::vector<float> rows;
  Status status = model.scan(t, false, [&](const StoredRows& block) {
    keys.insert(keys.end(), block.keys.begin(), block.keys.end());
    rows.insert(rows.end(), block.rows.begin(), block.rows.end());
    return ok_status();
  });
  if (!status.ok()) return status;
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  const Result<std::unique_ptr<File>> file = disk.create(path);
  if (!file) return file.status();
  FileStream stream(**file);
  std::string line;
  for (const std::size_t i : order) {
    line = std::to_string(keys[i]);
    for (std::size_t f = 0; f < dim; ++f) line += '\t', append_float(line, rows[i * dim + f]);
    line += '\n';
    if (status = stream.write(bytes_of(line)); !status.ok()) return status;
  }
  if (status = stream.flush(); !status.ok()) return status;
  return (*file)->sync();
}

Status export_text(const ModelReader& model, Disk& disk, const std::string& destination) {
  const Result<std::vector<std::string>> names = disk.list(destination);
  const Result<Entry> found = disk.look(destination);
  if (!found) return found.status();
  if (*found != Entry::kNothing && (!names || !names->empty())) {
    return {Code::kIo, "cannot export to " + destination + ": it exists and is not an empty directory"};
  }
  Result<StagedDirectory> directory = StagedDirectory::create(disk, destination);
  if (!directory) return directory.status();
  for (std::size_t t = 0; t < model.manifest().tables.size(); ++t) {
    const std::string path = directory->staging() + "/" + model.manifest().tables[t].spec.name + ".tsv";
    if (Status status = write_text_table(model, t, disk, path); !status.ok()) return status;
  }
  return directory->commit();
}

}  // namespace

Result<ExportFormat> parse_export_format(std::string_view name) {
  if (name == "safetensors") return ExportFormat::kSafetensors;
  if (name == "text") return ExportFormat::kText;
  if (name == "npz") return ExportFormat::kNpz;
  if (name == "vw-readable") return ExportFormat::kVw;
  return Status(
      Code::kUsage,
      fmt::format("export format '{}' is unknown; expected safetensors, text, npz or vw-readable", name));
}

Status export_model(const ModelReader& model, ExportFormat format, Disk& disk, const std::string& destination,
                    const FeatureScales& scales) {
  if (format == ExportFormat::kText) return export_text(model, disk, destination);
  Result<StagedFile> file = StagedFile::create(disk, destination);
  if (!file) return file.status();
  Status status = format == ExportFormat::kNpz  ? write_npz(model, file->file())
                  : format == ExportFormat::kVw ? write_vw_readable(model, scales, file->file())
                                                : write_safetensors(model, file->file());
  return status.ok() ? file->commit() : status;
}

}  // namespace thalweg
