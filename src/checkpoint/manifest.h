// checkpoint.json: what a checkpoint's directory holds and how to tell that it is whole. It is written last.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/range_set.h"
#include "staleness/reached.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg::checkpoint {

// The first is of step boundaries, which hold rows alone; of the second each range has marks of its own; of
// the third ranges may have only what has changed since another checkpoint.
inline constexpr std::uint32_t kFormatVersion = 1, kFormatVersionOfMarks = 2, kFormatVersionOfChanges = 3;
inline constexpr const char* kManifestFile = "checkpoint.json";

// What one server has stored: a file of blocks, see part_file.h.
struct Part {
  std::string file;  // Within the directory.
  std::uint64_t bytes = 0;
  std::string hash;                 // XXH3-128 of the file, 32 hex digits.
  std::string headers;              // The same of its blocks' headers; empty: of an earlier version.
  std::uint64_t rows = 0;           // Of all tables, stored here or not.
  std::vector<RangeSet> ranges;     // By table: those that it has, rows or not.
  std::vector<Reached> reached;     // By shard, over all its ranges; none where a step boundary says it.
  std::vector<RangeSet> changed{};  // By table: those of which it has the changes alone; none where of none.
  std::uint64_t stored = 0;         // Then: the rows that it has.
  bool operator==(const Part&) const = default;
};

struct TableRanges {
  std::string name;
  std::uint16_t ranges = 0;
  bool operator==(const TableRanges&) const = default;
};

// The checkpoint beside this one that has what this one has not.
struct Base {
  std::string name;  // Of its directory.
  std::string hash;  // XXH3-128 of its checkpoint.json, which has those of its parts.
  bool operator==(const Base&) const = default;
};

struct Manifest {
  std::string library_version;
  Step step;  // All steps before it are in the rows; no other, unless parts say what shards have reached.
  std::string job;                             // The application's own configuration,
  std::string history{};                       // and JSON of what came before; empty: it tells of none.
  std::string inputs;                          // Tells the data from other data.
  std::map<std::string, std::string> options;  // As a model's directory has them.
  std::vector<TableRanges> tables;
  std::vector<Part> parts;
  std::optional<Base> base{};  // None: this one has all rows.

  std::uint64_t bytes() const;  // Of all parts.
  std::uint64_t rows() const;
  std::uint64_t stored_rows() const;  // Of those, what the parts have.
  // By shard, over all parts: where it goes on. None where all do with `step`.
  std::vector<Reached> reached() const;
  bool operator==(const Manifest&) const = default;
};

// How many passes all shards had done, and met behind, when it was taken.
std::uint32_t passes_before(const Manifest& manifest);

std::string to_json(const Manifest& manifest);
// kModel, naming `path`: another version, a checksum that does not match, members that are missing or
// ill-typed, parts that do not have each range of each table once.
Result<Manifest> parse_manifest(const std::string& path, std::string_view text);

// What a server tells whoever completes the checkpoint.
std::string to_json(const Part& part);
Result<Part> parse_part(std::string_view text);

}  // namespace thalweg::checkpoint
