#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "base/check.h"
#include "base/hint.h"
#include "base/mix.h"
#include "model/format/model_dir.h"

namespace thalweg {

Result<Manifest> read_manifest(const Disk& disk, const std::string& directory) {
  constexpr std::uint64_t kManifestBytesMax = std::uint64_t{16} << 20;
  const Result<Entry> place = disk.look(directory);
  if (!place) return place.status();
  if (*place != Entry::kDirectory) {
    const std::string cannot = "cannot read model " + directory;
    if (*place == Entry::kNothing) return Status(Code::kIo, cannot + ": no such directory");
    return with_hint({Code::kIo, cannot + ": it is a file, expected a model's directory"},
                     "what thalweg model export writes is for other programs; train saves a directory");
  }
  const std::string path = directory + "/" + kManifestFile;
  const Result<Entry> manifest = disk.look(path);
  if (!manifest) return manifest.status();
  if (*manifest == Entry::kNothing) {
    const Status none(Code::kModel, directory + " is no model: it has no model.json");
    const Result<Entry> checkpoint = disk.look(directory + "/checkpoint.json");
    if (!checkpoint || *checkpoint == Entry::kNothing) return none;
    return with_hint(none, "it is a checkpoint, of which thalweg ckpt export makes a model");
  }
  const Result<std::unique_ptr<File>> file = disk.open(path);
  if (!file) return file.status();
  const Result<std::uint64_t> size = (*file)->size();
  if (!size) return size.status();
  if (*size > kManifestBytesMax) return Status(Code::kModel, path + " is no model.json: it is too large");
  std::string text(*size, '\0');
  if (Status status = (*file)->read_at(0, std::as_writable_bytes(std::span(text))); !status.ok())
    return status;
  return parse_manifest(path, text);
}

namespace {

constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 20;

// The file's tensors in the order of table_tensors(), with offsets.
Result<std::vector<TensorInfo>> check_table(const File& file, const TableManifest& table) {
  const auto damaged = [&](const std::string& why) {
    return Status(Code::kModel, file.path() + " is damaged: " + why);
  };
  const Result<std::uint64_t> size = file.size();
  if (!size) return size.status();
  if (*size != table.bytes) {
    return damaged(fmt::format("it has {} bytes; model.json expects {}", *size, table.bytes));
  }
  const Result<std::string> hash = hash_file(file);
  if (!hash) return hash.status();
  if (*hash != table.hash) return damaged("its hash is " + *hash + "; model.json expects " + table.hash);
  Result<std::vector<TensorInfo>> found = read_safetensors_header(file);
  if (!found) return found.status();
  if (found->size() != table_tensor_count(table.spec, table.state_floats)) {
    return damaged("it has other tensors than model.json says");
  }
  std::map<std::string_view, const TensorInfo*> by_name;
  for (const TensorInfo& tensor : *found) by_name[tensor.name] = &tensor;
  std::vector<TensorInfo> wanted = table_tensors(table.spec, table.rows, table.state_floats);
  for (TensorInfo& tensor : wanted) {
    const auto match = by_name.find(tensor.name);
    if (match == by_name.end() || match->second->dtype != tensor.dtype ||
        match->second->shape != tensor.shape) {
      return damaged("tensor '" + tensor.name + "' is missing or of another shape");
    }
    tensor = *match->second;
  }
  return wanted;
}

}  // namespace

// Another training may put its model there between the reading of the manifest and that of the tables.
Result<ModelReader> ModelReader::open(const Disk& disk, const std::string& path) {
  constexpr int kTries = 10;
  for (int tried = 1;; ++tried) {
    const Result<Manifest> manifest = read_manifest(disk, path);
    if (!manifest) return manifest.status();
    Result<ModelReader> reader = open_as(disk, path, *manifest);
    if (reader || tried == kTries) return reader;
    const Result<Manifest> now = read_manifest(disk, path);
    if (!now || now->digest == manifest->digest) return reader;
  }
}

Result<ModelReader> ModelReader::open_as(const Disk& disk, const std::string& path,
                                         const Manifest& manifest) {
  ModelReader reader;
  reader.path_ = path;
  reader.manifest_ = manifest;
  for (const TableManifest& table : reader.manifest_.tables) {
    Result<std::unique_ptr<File>> file = disk.open(path + "/" + table.file);
    if (!file) return file.status();
    Result<std::vector<TensorInfo>> tensors = check_table(**file, table);
    if (!tensors) return tensors.status();
    reader.files_.push_back(std::move(*file));
    reader.tensors_.push_back(std::move(*tensors));
  }
  if (!reader.manifest_.model.script.empty()) {
    if (Status status = reader.check_script(disk); !status.ok()) return status;
  }
  return reader;
}

Status ModelReader::check_script(const Disk& disk) {
  const std::string at = path_ + "/" + kScriptFile;
  const Result<std::unique_ptr<File>> file = disk.open(at);
  if (!file) return file.status();
  const Result<std::uint64_t> size = (*file)->size();
  if (!size) return size.status();
  const Result<std::string> hash = *size == manifest_.script_bytes ? hash_file(**file) : std::string();
  if (!hash) return hash.status();
  if (*hash != manifest_.script_hash)
    return {Code::kModel, at + " is damaged: it is not what model.json expects"};
  manifest_.model.script = at;
  return ok_status();
}

ModelReader::Cursor::Cursor(const ModelReader& reader, std::size_t table, bool with_state)
    : file_(reader.files_.at(table).get()),
      table_(&reader.manifest_.tables.at(table)),
      tensors_(&reader.tensors_.at(table)),
      with_state_(with_state) {}

Result<StoredRows> ModelReader::Cursor::next() {
  const TableSpec& spec = table_->spec;
  const bool sparse = spec.kind == TableSpec::Kind::kSparse;
  const std::size_t width = spec.dim + (with_state_ ? table_->state_floats : 0);
  const std::uint64_t block = std::max<std::uint64_t>(1, kBlockBytes / (4 * width));
  const std::size_t count = static_cast<std::size_t>(std::min(block, table_->rows - row_));
  keys_.resize(count);
  rows_.resize(count * width);
  std::size_t tensor = 0;
  if (sparse) {
    const std::uint64_t offset = (*tensors_)[tensor++].begin + row_ * sizeof(Key);
    if (Status status = file_->read_at(offset, std::as_writable_bytes(std::span(keys_))); !status.ok())
      return status;
  }
  for (std::size_t column = 0; column < width; ++tensor) {
    const TensorInfo& info = (*tensors_)[tensor];
    const std::size_t part = static_cast<std::size_t>(info.shape[1]);
    part_.resize(count * part);
    const std::uint64_t offset = info.begin + row_ * part * sizeof(float);
    if (Status status = file_->read_at(offset, std::as_writable_bytes(std::span(part_))); !status.ok())
      return status;
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(rows_.data() + i * width + column, part_.data() + i * part, part * sizeof(float));
    }
    column += part;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!sparse) {
      keys_[i] = row_ + i;
      continue;
    }
    const PlacedKey placed = place(keys_[i]);
    if (placed < next_placed_ || placed == kNoPlace) {
      return Status(Code::kModel, fmt::format("{}: key {} of row {} is out of order, repeated or reserved",
                                              file_->path(), keys_[i], row_ + i));
    }
    next_placed_ = placed + 1;
  }
  row_ += count;
  return StoredRows{keys_, rows_, width};
}

Status ModelReader::scan(std::size_t table, bool with_state,
                         const std::function<Status(const StoredRows&)>& sink) const {
  for (Cursor cursor = rows(table, with_state);;) {
    const Result<StoredRows> block = cursor.next();
    if (!block) return block.status();
    if (block->keys.empty()) return ok_status();
    if (Status status = sink(*block); !status.ok()) return status;
  }
}

Result<std::uint64_t> ModelReader::compute_digest() const {
  std::uint64_t digest = 0;
  for (std::size_t t = 0; t < manifest_.tables.size(); ++t) {
    TableDigest table(manifest_.tables[t].spec.dim);
    const Status status = scan(t, false, [&](const StoredRows& block) {
      table.add(block.keys, block.rows);
      return ok_status();
    });
    if (!status.ok()) return status;
    digest += table_part_of_digest(manifest_.tables[t].spec.name, table.sum());
  }
  return digest;
}

}  // namespace thalweg
