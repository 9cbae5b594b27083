#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/mix.h"
#include "model/format/model_dir.h"

namespace thalweg {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kUnsyncedMost = 8;                    // Files that are open at a time.
constexpr std::size_t kPieceBytes = std::size_t{16} << 10;  // Of rows whose columns are gathered together.

// Nothing there, an empty directory or a model.
Status check_place(const Disk& disk, const std::string& path) {
  const std::string target = disk.resolve(path);
  const Result<Entry> found = disk.look(target);
  if (!found) return found.status();
  if (*found == Entry::kDirectory) {
    std::error_code error;
    if (fs::equivalent(target, fs::current_path(error), error))
      return {Code::kIo, "cannot save a model at " + path +
                             ": it is the working directory, which a model would take the place of"};
    const Result<std::vector<std::string>> names = disk.list(target);
    if (!names) return names.status();
    const Result<Entry> manifest = disk.look(target + "/" + kManifestFile);
    if (!manifest) return manifest.status();
    if (!names->empty() && *manifest == Entry::kNothing) {
      return {Code::kIo, "cannot save a model at " + path + ": a directory that is no model is in the way"};
    }
  } else if (*found != Entry::kNothing) {
    return {Code::kIo,
            "cannot save a model at " + path + ": a file is in the way; expected a directory's name"};
  }
  return disk.check_writable(fs::path(target).parent_path().string());
}

// What the directory at `target` has that is not of the model there. Of one whose manifest cannot be read any
// table's file is its own.
Result<std::vector<std::string>> names_besides_model(const Disk& disk, const std::string& target) {
  const Result<Entry> found = disk.look(target);
  if (!found) return found.status();
  if (*found != Entry::kDirectory) return std::vector<std::string>();
  Result<std::vector<std::string>> names = disk.list(target);
  if (!names) return names.status();
  std::vector<std::string> own{kManifestFile, kScriptFile, kNamesFile};
  const Result<Manifest> manifest = read_manifest(disk, target);
  for (std::size_t i = 0; manifest && i < manifest->tables.size(); ++i)
    own.push_back(manifest->tables[i].file);
  std::erase_if(*names, [&](const std::string& name) {
    return std::find(own.begin(), own.end(), name) != own.end() ||
           (!manifest && name.ends_with(".safetensors"));
  });
  return names;
}

// `floats` of each row, of which the first has its own at `from`.
void copy_column(const float* from, std::size_t width, std::size_t floats, std::span<float> column) {
  if (floats == 1) {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = from[i * width];
    return;
  }
  for (std::size_t i = 0; i * floats < column.size(); ++i)
    std::copy_n(from + i * width, floats, column.data() + i * floats);
}

}  // namespace

Status check_model_destination(const Disk& disk, const std::string& path) {
  if (Status status = check_place(disk, path); !status.ok()) return status;
  const auto besides = names_besides_model(disk, disk.resolve(path));
  if (!besides) return besides.status();
  if (besides->empty()) return ok_status();
  return {Code::kIo, fmt::format("cannot save a model at {}: '{}' there is not of the model that it would "
                                 "replace; move it, or save to another directory",
                                 path, besides->front())};
}

std::size_t table_tensor_count(const TableSpec& spec, std::size_t state_floats) {
  return (spec.kind == TableSpec::Kind::kSparse ? 2 : 1) + (state_floats + spec.dim - 1) / spec.dim;
}

std::vector<TensorInfo> table_tensors(const TableSpec& spec, std::uint64_t rows, std::size_t state_floats) {
  std::vector<TensorInfo> tensors;
  if (spec.kind == TableSpec::Kind::kSparse) tensors.push_back({"keys", DType::kU64, {rows}});
  tensors.push_back({"rows", DType::kF32, {rows, spec.dim}});
  for (std::size_t slot = 0; slot * spec.dim < state_floats; ++slot) {
    const std::uint64_t width = std::min<std::uint64_t>(spec.dim, state_floats - slot * spec.dim);
    tensors.push_back({fmt::format("state.{}", slot), DType::kF32, {rows, width}});
  }
  return tensors;
}

struct ModelWriter::OpenTable {
  OpenTable(std::unique_ptr<File> opened, const TableSpec& table, std::uint64_t announced,
            std::size_t stored_width)
      : file(std::move(opened)), spec(table), rows(announced), width(stored_width), digest(table.dim) {}

  // Of the rows that come next.
  Status take_keys(std::span<const std::uint64_t> keys);
  Status write(std::span<const float> of_rows);

  std::unique_ptr<File> file;
  TableSpec spec;
  std::uint64_t rows;
  std::size_t width;
  TableDigest digest;
  std::vector<TensorInfo> tensors;
  std::vector<FileStream> streams;  // One a tensor.
  std::uint64_t written = 0;
  std::uint64_t next_key = 0;  // Smallest key that may come next.
  std::vector<Key> user_keys;  // Of the rows being written, and of these one tensor.
  std::vector<float> column;
};

Status ModelWriter::OpenTable::take_keys(std::span<const std::uint64_t> keys) {
  const bool sparse = spec.kind == TableSpec::Kind::kSparse;
  user_keys.resize(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool in_order = sparse ? keys[i] >= next_key && keys[i] != kNoPlace : keys[i] == next_key;
    if (!in_order)
      return {Code::kModel, fmt::format("table {}: row {} came out of order", spec.name, written + i)};
    next_key = keys[i] + 1;
    user_keys[i] = sparse ? unplace(keys[i]) : keys[i];
  }
  return ok_status();
}

Status ModelWriter::OpenTable::write(std::span<const float> of_rows) {
  digest.add(user_keys, of_rows);
  auto stream = streams.begin();
  if (spec.kind == TableSpec::Kind::kSparse) {
    if (Status status = stream++->write(bytes_of(std::span(user_keys))); !status.ok()) return status;
  }
  if (width == spec.dim) return stream->write(bytes_of(of_rows));
  for (std::size_t begin = 0; begin < width; begin += spec.dim) {
    const std::size_t floats = std::min<std::size_t>(spec.dim, width - begin);
    column.resize(user_keys.size() * floats);
    copy_column(of_rows.data() + begin, width, floats, column);
    if (Status status = stream++->write(bytes_of(std::span(column))); !status.ok()) return status;
  }
  return ok_status();
}

ModelWriter::ModelWriter(Disk& disk, std::string path, StagedDirectory directory)
    : disk_(&disk), path_(std::move(path)), directory_(std::move(directory)) {}
ModelWriter::~ModelWriter() = default;

Result<std::unique_ptr<ModelWriter>> ModelWriter::create(Disk& disk, const std::string& path) {
  if (Status status = check_model_destination(disk, path); !status.ok()) return status;
  Result<StagedDirectory> directory = StagedDirectory::create(disk, path);
  if (!directory) return directory.status();
  std::unique_ptr<ModelWriter> writer(new ModelWriter(disk, path, std::move(*directory)));
  writer->manifest_.library_version = THALWEG_VERSION;
  return writer;
}

Status ModelWriter::begin_table(const TableSpec& spec, std::uint64_t rows, std::size_t stored_width) {
  THALWEG_CHECK(!table_, "one table at a time");
  THALWEG_CHECK(stored_width >= spec.dim && spec.dim > 0, "a stored row starts with the row");
  THALWEG_CHECK(spec.kind == TableSpec::Kind::kSparse || rows == spec.rows, "a dense table has all its rows");
  if (spec.name.empty() || spec.name.find('/') != std::string::npos) {
    return {Code::kUsage, "table name '" + spec.name + "' cannot name a file"};
  }
  Result<std::unique_ptr<File>> file = disk_->create(directory_.staging() + "/" + spec.name + ".safetensors");
  if (!file) return file.status();
  auto table = std::make_unique<OpenTable>(std::move(*file), spec, rows, stored_width);
  table->tensors = table_tensors(spec, rows, stored_width - spec.dim);
  const std::string header = safetensors_header(table->tensors);
  if (Status status = table->file->write_at(0, bytes_of(header)); !status.ok()) return status;
  for (const TensorInfo& tensor : table->tensors) table->streams.emplace_back(*table->file, tensor.begin);
  table_ = std::move(table);
  return ok_status();
}

Status ModelWriter::append(std::span<const std::uint64_t> keys, std::span<const float> rows) {
  THALWEG_CHECK(table_ && rows.size() == keys.size() * table_->width, "rows of the open table's width");
  OpenTable& table = *table_;
  if (keys.size() > table.rows - table.written) {
    return {Code::kModel,
            fmt::format("table {} has more rows than the {} announced", table.spec.name, table.rows)};
  }
  const std::size_t at_once = std::max<std::size_t>(1, kPieceBytes / (table.width * sizeof(float)));
  for (std::size_t done = 0; done < keys.size(); done += at_once) {
    const std::size_t count = std::min(at_once, keys.size() - done);
    if (Status status = table.take_keys(keys.subspan(done, count)); !status.ok()) return status;
    const auto of_rows = rows.subspan(done * table.width, count * table.width);
    if (Status status = table.write(of_rows); !status.ok()) return status;
    table.written += count;
  }
  return ok_status();
}

std::uint64_t ModelWriter::digest_of_table() const {
  THALWEG_CHECK(table_, "a table is open");
  return table_->digest.sum();
}

Status ModelWriter::drop_table() {
  THALWEG_CHECK(table_, "a table is open");
  const std::string path = table_->file->path();
  table_.reset();
  return disk_->remove(path);
}

Status ModelWriter::end_table() {
  THALWEG_CHECK(table_, "a table is open");
  OpenTable& table = *table_;
  if (table.written != table.rows) {
    return {Code::kModel, fmt::format("table {} has {} rows; {} were announced", table.spec.name,
                                      table.written, table.rows)};
  }
  for (FileStream& stream : table.streams) {
    if (Status status = stream.flush(); !status.ok()) return status;
  }
  Result<std::string> hash = hash_file(*table.file);
  if (!hash) return hash.status();
  TableManifest& entry = manifest_.tables.emplace_back();
  entry.spec = table.spec;
  entry.rows = table.rows;
  entry.state_floats = static_cast<std::uint32_t>(table.width - table.spec.dim);
  entry.file = table.spec.name + ".safetensors";
  entry.bytes = table.tensors.back().end;
  entry.hash = std::move(*hash);
  manifest_.digest += table_part_of_digest(table.spec.name, table.digest.sum());
  unsynced_.push_back(std::move(table.file));
  table_.reset();
  return unsynced_.size() < kUnsyncedMost ? ok_status() : sync_files();
}

// The last table first, which is the largest in most models: the file system's journal is written with it,
// and seldom once more for those that follow.
Status ModelWriter::sync_files() {
  while (!unsynced_.empty()) {
    if (Status status = unsynced_.back()->sync(); !status.ok()) return status;
    unsynced_.pop_back();
  }
  return ok_status();
}

Status ModelWriter::copy_script(const std::string& from) {
  const std::string to = directory_.staging() + "/" + kScriptFile;
  if (Status status = copy_file(*disk_, from, to); !status.ok()) return status;
  const Result<std::unique_ptr<File>> copy = disk_->open(to);
  if (!copy) return copy.status();
  const Result<std::uint64_t> size = (*copy)->size();
  if (!size) return size.status();
  Result<std::string> hash = hash_file(**copy);
  if (!hash) return hash.status();
  manifest_.script_bytes = *size;
  manifest_.script_hash = std::move(*hash);
  return ok_status();
}

// Files that others have put beside the model's since create().
Status ModelWriter::bring_along() {
  const std::string target = disk_->resolve(path_);
  const auto besides = names_besides_model(*disk_, target);
  if (!besides) return besides.status();
  for (const std::string& name : *besides) {
    const std::string to = directory_.staging() + "/" + name;
    const Result<Entry> own = disk_->look(to);
    if (!own) return own.status();
    if (*own != Entry::kNothing) continue;
    if (Status status = copy_file(*disk_, target + "/" + name, to); !status.ok()) return status;
  }
  return ok_status();
}

Result<std::uint64_t> ModelWriter::commit(const ModelSpec& model, std::map<std::string, std::string> options,
                                          std::map<std::string, double> metrics,
                                          std::optional<TrainingRecord> training) {
  THALWEG_CHECK(!table_, "the last table was ended");
  manifest_.model = model;
  manifest_.options = std::move(options);
  manifest_.metrics = std::move(metrics);
  manifest_.training = std::move(training);
  if (!model.script.empty()) {
    if (Status status = copy_script(model.script); !status.ok()) return status;
  }
  Result<std::unique_ptr<File>> file = disk_->create(directory_.staging() + "/" + kManifestFile);
  if (!file) return file.status();
  if (Status status = (*file)->write_at(0, bytes_of(to_json(manifest_))); !status.ok()) return status;
  unsynced_.insert(unsynced_.begin(), std::move(*file));
  if (Status status = sync_files(); !status.ok()) return status;
  if (Status status = check_place(*disk_, path_); !status.ok()) return status;
  if (Status status = bring_along(); !status.ok()) return status;
  if (Status status = directory_.commit(); !status.ok()) return status;
  return manifest_.digest;
}

}  // namespace thalweg
