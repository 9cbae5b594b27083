// model.json: what a model directory holds and how to tell that it is whole.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "thalweg/options.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::uint32_t kModelFormatVersion = 1;
inline constexpr const char* kScriptFile = "script.pt";

struct TableManifest {
  TableSpec spec;
  std::uint64_t rows = 0;          // Stored rows.
  std::uint32_t state_floats = 0;  // Optimizer state of a row, behind its dim floats.
  std::string file;                // Within the directory.
  std::uint64_t bytes = 0;         // Of the file.
  std::string hash;                // XXH3-128 of the file, 32 hex digits.
  bool operator==(const TableManifest&) const = default;
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
  std::uint64_t digest = 0;
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
