#include "checkpoint/reshard.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "checkpoint/checkpoint_dir.h"
#include "checkpoint/part_file.h"
#include "checkpoint/part_writer.h"

namespace thalweg::checkpoint {
namespace {

struct PlacedBlock {
  const File* file = nullptr;
  BlockPlace place;
};

// All blocks of a checkpoint by table and range, those of one range in their order. All of a range are in one
// file.
struct Blocks {
  std::vector<std::unique_ptr<File>> files;
  std::vector<PlacedBlock> all;
};

Result<Blocks> blocks_of(const Disk& disk, const std::string& path, const Manifest& manifest) {
  Blocks blocks;
  for (const Part& part : manifest.parts) {
    auto file = disk.open(path + "/" + part.file);
    if (!file) return file.status();
    const File& opened = **file;
    blocks.files.push_back(*std::move(file));
    Status scanned = scan_blocks(opened, manifest.tables.size(), [&](const BlockPlace& place) {
      blocks.all.push_back({&opened, place});
      return ok_status();
    });
    if (!scanned.ok()) return scanned;
  }
  std::ranges::stable_sort(blocks.all, {}, [](const PlacedBlock& block) {
    return std::tuple(block.place.table.value, block.place.range.value);
  });
  return blocks;
}

// Of so many, the ranges of a table that a part has.
RangeSpan share(std::uint16_t ranges, std::uint32_t part, std::uint32_t parts) {
  const auto bound = [&](std::uint32_t of) {
    return static_cast<std::uint16_t>(std::uint64_t{ranges} * of / parts);
  };
  return {bound(part), bound(part + 1)};
}

Result<Part> write_share(Disk& disk, const Manifest& manifest, const Blocks& blocks, const std::string& place,
                         std::uint32_t number, std::uint32_t parts) {
  Part part;
  part.file = fmt::format("server-{}.part", number);
  part.reached = manifest.reached();
  for (const TableRanges& table : manifest.tables)
    part.ranges.emplace_back(share(table.ranges, number, parts));
  const auto file = disk.create(place + "/" + part.file);
  if (!file) return file.status();
  PartWriter writer(**file);
  for (const PlacedBlock& block : blocks.all) {
    if (!part.ranges[block.place.table.value].contains(block.place.range)) continue;
    if (Status status = writer.copy(*block.file, block.place); !status.ok()) return status;
    part.rows += block.place.rows;
  }
  if (Status status = writer.finish(part); !status.ok()) return status;
  return part;
}

Status make_directory(Disk& disk, const std::string& directory) {
  const auto found = disk.look(directory);
  if (!found) return found.status();
  if (*found == Entry::kDirectory) return ok_status();
  if (*found == Entry::kNothing) return disk.make_directory(directory);
  return {Code::kIo, directory + ": something is in the way, expected a directory for checkpoints"};
}

Status check_parts(const Manifest& manifest, std::uint32_t parts) {
  const auto most = std::ranges::max_element(manifest.tables, {}, &TableRanges::ranges);
  if (most != manifest.tables.end() && parts >= 1 && parts <= most->ranges) return ok_status();
  return {Code::kUsage, fmt::format("{} parts, expected 1 to {}, the key ranges of its tables", parts,
                                    most == manifest.tables.end() ? 0 : most->ranges)};
}

Result<Manifest> write_all(Disk& disk, const std::string& path, const Manifest& manifest,
                           const std::string& place, std::uint32_t parts) {
  const auto blocks = blocks_of(disk, path, manifest);
  if (!blocks) return blocks.status();
  if (Status made = disk.make_directory(place); !made.ok()) return made;
  Manifest out = manifest;
  out.parts.clear();
  for (std::uint32_t number = 0; number < parts; ++number) {
    auto part = write_share(disk, manifest, *blocks, place, number, parts);
    if (!part) return part.status();
    out.parts.push_back(*std::move(part));
  }
  const auto before = content_hash(disk, path, manifest), after = content_hash(disk, place, out);
  if (!before) return before.status();
  if (!after) return after.status();
  if (*before != *after) return Status(Code::kModel, place + ": what was written is not what was read");
  return out;
}

}  // namespace

Result<std::uint64_t> content_hash(const Disk& disk, const std::string& path, const Manifest& manifest) {
  const auto blocks = blocks_of(disk, path, manifest);
  if (!blocks) return blocks.status();
  std::uint64_t hash = 0;
  for (const auto& [file, place] : blocks->all) {
    const auto plain = read_plain(*file, place);
    if (!plain) return plain.status();
    const std::uint64_t of[] = {hash, place.table.value, place.range.value, place.rows,
                                hash64(plain->span().data(), plain->size())};
    hash = hash64(of, sizeof of);
  }
  return hash;
}

Result<std::string> reshard(Disk& disk, const std::string& path, const std::string& directory,
                            std::uint32_t parts) {
  const auto manifest = open(disk, path);
  if (!manifest) return manifest.status();
  if (Status some = check_parts(*manifest, parts); !some.ok()) return some;
  if (Status whole = verify(disk, path); !whole.ok()) return whole;
  if (Status made = make_directory(disk, directory); !made.ok()) return made;
  const std::string there = (std::filesystem::path(directory) / directory_name(manifest->step)).string();
  const auto found = disk.look(there);
  if (!found) return found.status();
  if (*found != Entry::kNothing)
    return Status(Code::kUsage, there + " is there already, expected another directory");
  const std::string place = attempt_prefix(disk, directory) + "1";
  const auto made = write_all(disk, path, *manifest, place, parts);
  if (!made) {
    (void)disk.remove(place);
    return made.status();
  }
  auto done = complete(disk, directory, place, *made);
  if (!done) return done;
  if (Status whole = verify(disk, *done); !whole.ok()) return whole;
  return done;
}

}  // namespace thalweg::checkpoint
