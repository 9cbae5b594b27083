// Model directories: model.json (manifest.h) and one safetensors file a table.
//
// A sparse table's file holds `keys` (U64 [n], the keys that the user knows, in ascending order of
// place(key), each once), `rows` (F32 [n, dim]) and its optimizer state as `state.0`, `state.1`, ... of at
// most dim floats a row (F32 [n, dim], the last one possibly narrower). A dense table's file is the same
// without `keys`. Beside them is the module of a model that has one (kScriptFile).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/format/file.h"
#include "model/format/manifest.h"
#include "model/format/safetensors.h"
#include "model/format/table_digest.h"
#include "node/disk.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

// Whether a model may be saved at `path`: nothing there, an empty directory, or a model to replace, with
// nothing beside it that would be lost; and the parent directory can be written to. For asking before a long
// training.
Status check_model_destination(const Disk& disk, const std::string& path);

// Writes a model directory as a stream; memory does not grow with the model. Nothing appears at the path, and
// what was there stays, until commit(); a writer that is dropped earlier leaves nothing behind. One thread.
class ModelWriter {
 public:
  // The disk must outlive it.
  static Result<std::unique_ptr<ModelWriter>> create(Disk& disk, const std::string& path);
  ~ModelWriter();

  // `stored_width` >= dim floats a row will come, in exactly `rows` rows (dense: spec.rows).
  Status begin_table(const TableSpec& spec, std::uint64_t rows, std::size_t stored_width);
  // Sparse: placed keys, strictly ascending over all calls. Dense: row numbers 0, 1, 2, ... over all calls.
  // `rows` holds stored_width floats for each key.
  Status append(std::span<const std::uint64_t> keys, std::span<const float> rows);
  std::uint64_t digest_of_table() const;  // The sum of TableDigest over the open table's rows so far.
  Status drop_table();                    // Forgets the open table, which may begin anew.
  Status end_table();                     // kModel when fewer rows came than announced.
  // Makes the model visible and durable; returns its digest.
  Result<std::uint64_t> commit(const ModelSpec& model, std::map<std::string, std::string> options,
                               std::map<std::string, double> metrics,
                               std::optional<TrainingRecord> training = std::nullopt);

 private:
  struct OpenTable;
  Status copy_script(const std::string& from);
  Status bring_along();
  Status sync_files();
  ModelWriter(Disk& disk, std::string path, StagedDirectory directory);

  Disk* disk_;
  std::string path_;
  StagedDirectory directory_;
  std::unique_ptr<OpenTable> table_;
  std::vector<std::unique_ptr<File>> unsynced_;
  Manifest manifest_;
};

// Rows of a table in file order.
struct StoredRows {
  std::span<const Key> keys;    // Sparse: the user's keys. Dense: row numbers.
  std::span<const float> rows;  // `width` floats a key: the row and, where asked for, its state.
  std::size_t width = 0;
};

// model.json of the model at `directory`. kIo or kModel, naming the file.
Result<Manifest> read_manifest(const Disk& disk, const std::string& directory);

class ModelReader {
 public:
  // Reads model.json and checks every file's size, layout and hash. kIo or kModel, naming the file.
  // A model that another one takes the place of meanwhile is the other one.
  static Result<ModelReader> open(const Disk& disk, const std::string& path);

  const std::string& path() const { return path_; }
  const Manifest& manifest() const { return manifest_; }

  // Pulls blocks of rows; the spans of a block are valid until the next one.
  class Cursor {
   public:
    // An empty block at the end. kModel for keys out of order or equal.
    Result<StoredRows> next();

   private:
    friend class ModelReader;
    Cursor(const ModelReader& reader, std::size_t table, bool with_state);
    const File* file_;
    const TableManifest* table_;
    const std::vector<TensorInfo>* tensors_;
    bool with_state_;
    std::uint64_t row_ = 0;
    std::vector<Key> keys_;
    std::vector<float> rows_;
    std::vector<float> part_;
    std::uint64_t next_placed_ = 0;
  };
  // The reader must outlive the cursor.
  Cursor rows(std::size_t table, bool with_state = false) const { return Cursor(*this, table, with_state); }
  // The same by callback; stops at the first Status that is not OK and returns it.
  Status scan(std::size_t table, bool with_state, const std::function<Status(const StoredRows&)>& sink) const;

  // Computed from the rows, not taken from model.json.
  Result<std::uint64_t> compute_digest() const;

 private:
  static Result<ModelReader> open_as(const Disk& disk, const std::string& path, const Manifest& manifest);
  Status check_script(const Disk& disk);

  std::string path_;
  Manifest manifest_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<std::vector<TensorInfo>> tensors_;  // Of each table's file: keys if sparse, rows, states.
};

// How many tensors a table's file must have, and which, in file order, without offsets.
std::size_t table_tensor_count(const TableSpec& spec, std::size_t state_floats);
std::vector<TensorInfo> table_tensors(const TableSpec& spec, std::uint64_t rows, std::size_t state_floats);

}  // namespace thalweg
