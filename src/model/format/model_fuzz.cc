// Any model.json and table files as a model directory: an error, or a model that can be read to its end. The
// input is the body of model.json, a zero byte, and the bytes of each table's file; checksum, @HASH and
// @BYTES are filled in, so that what lies behind the checks of damage is reached too.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/format/model_dir.h"
#include "sim/disk.h"

namespace {

using namespace thalweg;  // NOLINT: a program of one file.

void fill_in(std::string& text, std::string_view what, const std::string& with) {
  if (const std::size_t at = text.find(what); at != text.npos) text.replace(at, what.size(), with);
}

void put(Disk& disk, const std::string& path, std::string_view bytes) {
  const auto file = disk.create(path);
  if (!file) return;  // Two tables of one name.
  THALWEG_CHECK((*file)->write_at(0, std::as_bytes(std::span(bytes))).ok(), "the disk is whole");
}

void check_model(const ModelReader& model) {
  for (std::size_t i = 0; i < model.manifest().tables.size(); ++i) {
    const TableManifest& table = model.manifest().tables[i];
    std::uint64_t rows = 0;
    const Status status = model.scan(i, true, [&](const StoredRows& block) {
      rows += block.keys.size();
      THALWEG_CHECK(block.rows.size() == block.keys.size() * block.width, "each key has its row");
      return ok_status();
    });
    THALWEG_CHECK(!status.ok() || rows == table.rows, "all rows come, or an error");
  }
  (void)model.compute_digest();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);  // NOLINT
  const std::size_t zero = std::min(input.find('\0'), size);
  const std::string_view table = zero < size ? input.substr(zero + 1) : std::string_view();
  std::string body(input.substr(0, zero));
  fill_in(body, "@HASH", hash_text(table));
  fill_in(body, "@BYTES", std::to_string(table.size()));
  const std::string text = body + ",\n  \"checksum\": \"" + hash_text(body) + "\"\n}\n";

  const auto manifest = parse_manifest("m/model.json", text);
  if (!manifest) {
    THALWEG_CHECK(manifest.status().message().find("m/model.json") != std::string::npos, "it names the file");
    return 0;
  }
  const auto again = parse_manifest("m/model.json", to_json(*manifest));
  THALWEG_CHECK(again.ok() && *again == *manifest, "what was written can be read");
  SimDisk disk(1);
  THALWEG_CHECK(disk.make_directory("/m").ok(), "the disk is empty");
  put(disk, "/m/model.json", text);
  for (const TableManifest& each : manifest->tables) put(disk, "/m/" + each.file, table);
  if (const auto model = ModelReader::open(disk, "/m"); model.ok()) check_model(*model);
  return 0;
}
