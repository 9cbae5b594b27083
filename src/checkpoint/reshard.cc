#include "checkpoint/reshard.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_dir.h"
#include "checkpoint/contents.h"
#include "checkpoint/part_file.h"
#include "checkpoint/part_writer.h"

namespace thalweg::checkpoint {
namespace {

// Of so many, the ranges of a table that a part has.
RangeSpan share(std::uint16_t ranges, std::uint32_t part, std::uint32_t parts) {
  const auto bound = [&](std::uint32_t of) {
    return static_cast<std::uint16_t>(std::uint64_t{ranges} * of / parts);
  };
  return {bound(part), bound(part + 1)};
}

// Rows of one range, as many in a block as a server puts there.
Status write_rows(PartWriter& writer, TableId table, RangeId range, const BlockRows& rows) {
  const auto keys = rows.rows.keys.as<std::uint64_t>();
  const std::size_t row_bytes = rows.width * sizeof(float);
  const std::size_t most = std::max<std::size_t>(1, kCutPieceBytes / (sizeof(std::uint64_t) + row_bytes));
  for (std::size_t done = 0; done < keys.size(); done += most) {
    const std::size_t count = std::min(most, keys.size() - done);
    const Payload some{rows.rows.keys.part(done * sizeof(std::uint64_t), count * sizeof(std::uint64_t)),
                       rows.rows.values.part(done * row_bytes, count * row_bytes)};
    if (Status status = writer.add(table, range, count, some); !status.ok()) return status;
  }
  return ok_status();
}

// Blocks as they are where the checkpoint itself has all.
Status write_range(PartWriter& writer, const Contents& contents, TableId table, RangeId range,
                   std::uint64_t& count) {
  if (contents.is_layered()) {
    return contents.each(table, range, [&](const BlockRows& rows) {
      count += rows.rows.keys.size() / sizeof(std::uint64_t);
      return write_rows(writer, table, range, rows);
    });
  }
  for (const Contents::Block& block : contents.rows(table, range)) {
    count += block.place.rows;
    if (Status status = writer.copy(*block.file, block.place); !status.ok()) return status;
  }
  return ok_status();
}

Result<Part> write_share(Disk& disk, const Contents& contents, const std::string& place, std::uint32_t number,
                         std::uint32_t parts) {
  const Manifest& manifest = contents.manifest();
  Part part;
  part.file = fmt::format("server-{}.part", number);
  part.reached = manifest.reached();
  const auto file = disk.create(place + "/" + part.file);
  if (!file) return file.status();
  PartWriter writer(**file);
  for (std::uint16_t t = 0; t < manifest.tables.size(); ++t) {
    const RangeSpan ranges = share(manifest.tables[t].ranges, number, parts);
    part.ranges.emplace_back(ranges);
    for (std::uint16_t range = ranges.begin; range < ranges.end; ++range) {
      Status written = write_range(writer, contents, TableId{t}, RangeId{range}, part.rows);
      if (!written.ok()) return written;
    }
  }
  for (const Contents::Block& state : contents.states()) {
    if (!part.ranges[state.place.table.value].contains(state.place.range)) continue;
    if (Status status = writer.copy(*state.file, state.place); !status.ok()) return status;
  }
  if (Status status = writer.finish(part); !status.ok()) return status;
  return part;
}

Status check_parts(const Manifest& manifest, std::uint32_t parts) {
  const auto most = std::ranges::max_element(manifest.tables, {}, &TableRanges::ranges);
  if (most != manifest.tables.end() && parts >= 1 && parts <= most->ranges) return ok_status();
  return {Code::kUsage, fmt::format("{} parts, expected 1 to {}, the key ranges of its tables", parts,
                                    most == manifest.tables.end() ? 0 : most->ranges)};
}

Result<Manifest> write_all(Disk& disk, const std::string& path, const std::string& place,
                           std::uint32_t parts) {
  const auto contents = Contents::open(disk, path);
  if (!contents) return contents.status();
  if (Status made = disk.make_directory(place); !made.ok()) return made;
  Manifest out = contents->manifest();
  out.parts.clear();
  out.base.reset();
  for (std::uint32_t number = 0; number < parts; ++number) {
    auto part = write_share(disk, *contents, place, number, parts);
    if (!part) return part.status();
    out.parts.push_back(*std::move(part));
  }
  const auto written = Contents::of(disk, {{place, out}});
  if (!written) return written.status();
  const auto before = contents->hash(), after = written->hash();
  if (!before) return before.status();
  if (!after) return after.status();
  if (*before != *after) return Status(Code::kModel, place + ": what was written is not what was read");
  return out;
}

}  // namespace

Result<std::uint64_t> content_hash(const Disk& disk, const std::string& path) {
  const auto contents = Contents::open(disk, path);
  if (!contents) return contents.status();
  return contents->hash();
}

Result<std::string> reshard(Disk& disk, const std::string& path, const std::string& directory,
                            std::uint32_t parts) {
  const auto manifest = open(disk, path);
  if (!manifest) return manifest.status();
  if (Status some = check_parts(*manifest, parts); !some.ok()) return some;
  if (Status whole = verify(disk, path); !whole.ok()) return whole;
  const auto was_there = have_directory(disk, directory);
  if (!was_there) return was_there.status();
  const std::string there = (std::filesystem::path(directory) / directory_name(manifest->step)).string();
  const auto found = disk.look(there);
  if (!found) return found.status();
  if (*found != Entry::kNothing)
    return Status(Code::kUsage, there + " is there already, expected another directory");
  const std::string place = attempt_prefix(disk, directory) + "1";
  const auto made = write_all(disk, path, place, parts);
  if (!made) {
    (void)disk.remove(place);
    if (const auto left = disk.list(directory); !*was_there && left && left->empty())
      (void)disk.remove(directory);
    return made.status();
  }
  auto done = complete(disk, directory, place, *made);
  if (!done) return done;
  if (Status whole = verify(disk, *done); !whole.ok()) return whole;
  return done;
}

}  // namespace thalweg::checkpoint
