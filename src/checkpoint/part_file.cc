#include "checkpoint/part_file.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/hash/hash.h"
#include "base/limits.h"
#include "checkpoint/part_writer.h"
#include "model/format/file.h"

namespace thalweg::checkpoint {
namespace {

Status block_damaged(const File& file, std::uint64_t offset, const std::string& why) {
  return {Code::kModel, fmt::format("{}: damaged: the block at byte {} {}", file.path(), offset, why)};
}

Status make_place(Disk& disk, const std::string& place) {
  const auto there = [&] {
    const Result<Entry> found = disk.look(place);
    return found && *found == Entry::kDirectory;
  };
  if (there()) return ok_status();
  Status made = disk.make_directory(place);
  return made.ok() || there() ? ok_status() : made;  // Another server may have been first.
}

std::string part_name(const Cut& cut) { return fmt::format("server-{}.part", cut.server); }

// A server's part while it is written.
class PartSink final : public CutSink {
 public:
  PartSink(const Cut& cut, std::unique_ptr<File> file) : cut_(cut), file_(std::move(file)), writer_(*file_) {}

  Status add(TableId table, const LoadEntry& rows) override {
    const std::size_t count = rows.rows.keys.size() / sizeof(std::uint64_t);
    part_.rows += count;
    return writer_.add(table, rows.range, count, rows.rows);
  }
  Result<std::string> finish() override {
    for (std::uint16_t t = 0; t < cut_.tables.size(); ++t) {
      part_.ranges.push_back(cut_.tables[t].owned);
      for (const RangeState& state : cut_.tables[t].states) {
        if (Status status = writer_.add(TableId{t}, state.range, 0, {encode(state), {}}); !status.ok())
          return status;
      }
    }
    if (Status status = add_cells(); !status.ok()) return status;
    part_.file = part_name(cut_);
    part_.reached = reached_in(cut_.tables);
    if (Status status = writer_.finish(part_); !status.ok()) return status;
    return to_json(part_);
  }

 private:
  // Where not all rows have been given: of which.
  Status add_cells() {
    std::vector<RangeSet> changed;
    bool any = false;
    for (const TableCut& table : cut_.tables) {
      changed.push_back(table.touched == nullptr ? RangeSet() : table.touched->ranges());
      any = any || !changed.back().empty();
    }
    if (!any) return ok_status();
    part_.stored = std::exchange(part_.rows, 0);
    for (std::uint16_t t = 0; t < cut_.tables.size(); ++t) {
      part_.rows += cut_.tables[t].rows;
      for (const RangeSpan run : changed[t].runs()) {
        for (std::uint16_t range = run.begin; range < run.end; ++range) {
          const Bytes cells = encode(*cut_.tables[t].touched->cells(RangeId{range}));
          Status status = writer_.add(TableId{t}, RangeId{range}, kRowsOfCells, {cells, {}});
          if (!status.ok()) return status;
        }
      }
    }
    part_.changed = std::move(changed);
    return ok_status();
  }

  const Cut& cut_;
  std::unique_ptr<File> file_;
  PartWriter writer_;
  Part part_;
};

}  // namespace

StoreCut store_cut(Disk& disk) {
  return [&disk](const Cut& cut) -> Result<std::unique_ptr<CutSink>> {
    if (Status status = make_place(disk, cut.order.place); !status.ok()) return status;
    auto file = disk.create(cut.order.place + "/" + part_name(cut));
    if (!file) return file.status();
    return std::unique_ptr<CutSink>(std::make_unique<PartSink>(cut, *std::move(file)));
  };
}

Result<Bytes> read_plain(const File& file, const BlockPlace& place) {
  const auto stored = std::make_unique_for_overwrite<std::byte[]>(place.stored_bytes);
  const std::span frame(stored.get(), place.stored_bytes);
  if (Status status = file.read_at(place.offset, frame); !status.ok()) return status;
  if (hash64(frame.data(), frame.size()) != place.hash)
    return block_damaged(file, place.offset, "has another hash than it says");
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != place.bytes)
    return block_damaged(file, place.offset, "has another length than it says");
  std::shared_ptr<std::byte[]> plain = std::make_unique_for_overwrite<std::byte[]>(place.bytes);
  const std::size_t size = ZSTD_decompress(plain.get(), place.bytes, frame.data(), frame.size());
  if (ZSTD_isError(size) != 0 || size != place.bytes)
    return block_damaged(file, place.offset, "cannot be unpacked");
  const std::span bytes(plain.get(), place.bytes);
  return Bytes(std::move(plain), bytes);
}

Status check_part(const Disk& disk, const std::string& directory, const Part& part) {
  const std::string path = directory + "/" + part.file;
  const auto file = disk.open(path);
  if (!file) return {Code::kModel, file.status().message()};
  const auto size = (*file)->size();
  if (!size) return size.status();
  if (*size != part.bytes) {
    return {Code::kModel, fmt::format("{}: damaged: it has {} bytes; {} expects {}", path, *size,
                                      kManifestFile, part.bytes)};
  }
  const auto hash = hash_file(**file);
  if (!hash) return hash.status();
  if (*hash == part.hash) return ok_status();
  return {Code::kModel,
          fmt::format("{}: damaged: its hash is {}; {} expects {}", path, *hash, kManifestFile, part.hash)};
}

Status scan_blocks(const File& file, const Part& part, std::size_t tables,
                   const std::function<Status(const BlockPlace&)>& sink) {
  const auto size = file.size();
  if (!size) return size.status();
  StreamHash headers;
  std::vector<std::byte> header(kBlockHeaderBytes);
  for (std::uint64_t offset = 0; offset < *size;) {
    if (*size - offset < kBlockHeaderBytes) return block_damaged(file, offset, "is cut off");
    if (Status status = file.read_at(offset, header); !status.ok()) return status;
    headers.add(header);
    Reader in(header);
    BlockPlace place;
    place.table = TableId{in.get<std::uint16_t>()};
    place.range = RangeId{in.get<std::uint16_t>()};
    place.rows = in.get<std::uint32_t>();
    place.offset = offset + kBlockHeaderBytes;
    place.bytes = in.get<std::uint32_t>();
    place.stored_bytes = in.get<std::uint32_t>();
    place.hash = in.get<std::uint64_t>();
    if (place.stored_bytes > *size - place.offset) return block_damaged(file, offset, "is cut off");
    if (place.bytes > limits::kFrameBytesMax) return block_damaged(file, offset, "is too large");
    if (place.table.value >= tables) return {Code::kModel, file.path() + ": it has a table too many"};
    if (Status status = sink(place); !status.ok()) return status;
    offset = place.offset + place.stored_bytes;
  }
  if (part.headers.empty() || part.headers == headers.text()) return ok_status();
  return {Code::kModel, fmt::format("{}: damaged: the hash of its blocks' headers is {}; {} expects {}",
                                    file.path(), headers.text(), kManifestFile, part.headers)};
}

Result<BlockRows> read_rows(const File& file, const BlockPlace& place, const TableSpec& spec) {
  const auto bytes = read_plain(file, place);
  if (!bytes) return bytes.status();
  const std::size_t keys = place.rows * sizeof(std::uint64_t);
  const std::size_t values = bytes->size() - std::min(keys, bytes->size());
  const std::size_t width = place.rows > 0 ? values / sizeof(float) / place.rows : 0;
  if (width == 0 || values != width * sizeof(float) * place.rows || place.range.value >= spec.ranges)
    return block_damaged(file, place.offset,
                         fmt::format("has no rows of range {} of table {}", place.range.value, spec.name));
  return BlockRows{{bytes->part(0, keys), bytes->part(keys, values)}, width};
}

}  // namespace thalweg::checkpoint
