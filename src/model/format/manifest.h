// model.json: what a model directory holds and how to tell that it is whole.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "thalweg/options.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::uint32_t kModelFormatVersion = 1;
inline constexpr const char* kManifestFile = "model.json";
inline constexpr const char* kScriptFile = "script.pt";
inline constexpr const char* kNamesFile = "names.tsv";  // What features are called, which the program adds.

struct TableManifest {
  TableSpec spec;
  std::uint64_t rows = 0;          // Stored rows.
  std::uint32_t state_floats = 0;  // Optimizer state of a row, behind its dim floats.
  std::string file;                // Within the directory.
  std::uint64_t bytes = 0;         // Of the file.
  std::string hash;                // XXH3-128 of the file, 32 hex digits.
  bool operator==(const TableManifest&) const = default;
};

// The table behind the model's own that says when keys were last learnt, where keys expire.
inline constexpr std::string_view kAgesTable = "ages";
inline bool is_ages_table(const TableSpec& table) { return table.name == kAgesTable; }

// A file that was learnt from.
struct TrainedFile {
  std::string name;
  std::uint64_t bytes = 0;
  // XXH3-64 of its first and of its last kTrainedFileEnd bytes, 16 hex digits; empty where it is no file that
  // can be read again.
  std::string head, tail;
  bool operator==(const TrainedFile&) const = default;
};
inline constexpr std::size_t kTrainedFileEnd = std::size_t{64} << 10;

// When and from what a model was made. For people and for their records: no program goes by it, and the
// digest does not know it.
struct TrainingRecord {
  std::string date;  // UTC, "2026-11-25T15:04:05Z".
  std::uint64_t batch = 0, data_shards = 0, epochs = 0;
  std::uint64_t learnt_epochs = 0;   // Of those, whole ones: it may have ended early.
  std::uint64_t best_epoch = 0;      // From 1, by held-out rows; 0: there were none.
  std::uint64_t kept_epoch = 0;      // Whose model this is; 0: of no whole one.
  std::vector<TrainedFile> files;    // In their order, the first kFilesMax.
  std::uint64_t files_left_out = 0;  // Behind them.
  static constexpr std::size_t kFilesMax = 1000;
  bool operator==(const TrainingRecord&) const = default;
};

struct Manifest {
  std::string library_version;
  ModelSpec model;
  std::vector<TableManifest> tables;
  std::uint64_t script_bytes =
      0;  // Of ModelSpec::script, kScriptFile in the directory, and its hash as of a table's.
  std::string script_hash;
  std::map<std::string, std::string> options;  // How it was trained, as flags would say it.
  std::map<std::string, double> metrics;       // Finite values only.
  std::optional<TrainingRecord> training;      // Models of older versions have none.
  std::uint64_t digest = 0;
  // What `options` has under that name; empty: nothing.
  std::string option(const std::string& name) const;
  unsigned hash_bits() const;  // Of the option of that name; 0: keys are as they stand.
  bool operator==(const Manifest&) const = default;
};

// The JSON text; its last member is an XXH3-128 checksum of everything before it.
std::string to_json(const Manifest& manifest);

// kModel, naming `path`: another format version (both are named), a checksum that does not match, which is
// looked at before the text is, nesting deeper than 8, more than 65,536 values, missing or ill-typed members,
// table names that would leave the directory.
Result<Manifest> parse_manifest(const std::string& path, std::string_view text);

// 16 hex digits.
std::string digest_text(std::uint64_t digest);

}  // namespace thalweg
