#include "checkpoint/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/hash/hash.h"

namespace thalweg::checkpoint {
namespace {

Status misplaced_block(const File& file, const BlockPlace& place, const char* why) {
  return {Code::kModel, fmt::format("{}: damaged: the block at byte {} {}", file.path(), place.offset, why)};
}

// Those rows of a block that `wanted` has.
template <class Wanted>
BlockRows some_of(const BlockRows& all, const Wanted& wanted) {
  const auto keys = all.rows.keys.as<std::uint64_t>();
  const auto rows = all.rows.values.as<float>();
  std::vector<std::uint64_t> some;
  std::vector<float> values;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!wanted(keys[i])) continue;
    some.push_back(keys[i]);
    const auto row = rows.subspan(i * all.width, all.width);
    values.insert(values.end(), row.begin(), row.end());
  }
  return {{Bytes::of(std::move(some)), Bytes::of(std::move(values))}, all.width};
}

// By ascending keys. Nothing: widths differ.
std::optional<BlockRows> merged(const std::vector<BlockRows>& blocks) {
  struct At {
    std::uint64_t key;
    const float* row;
  };
  std::vector<At> all;
  std::size_t width = 0;
  for (const BlockRows& block : blocks) {
    const auto keys = block.rows.keys.as<std::uint64_t>();
    const auto rows = block.rows.values.as<float>();
    if (keys.empty()) continue;
    if (width != 0 && width != block.width) return {};
    width = block.width;
    for (std::size_t i = 0; i < keys.size(); ++i) all.push_back({keys[i], &rows[i * width]});
  }
  std::ranges::sort(all, {}, &At::key);
  std::vector<std::uint64_t> keys;
  std::vector<float> rows;
  keys.reserve(all.size());
  rows.reserve(all.size() * width);
  for (const At& at : all) {
    keys.push_back(at.key);
    rows.insert(rows.end(), at.row, at.row + width);
  }
  return BlockRows{{Bytes::of(std::move(keys)), Bytes::of(std::move(rows))}, width};
}

}  // namespace

Result<Contents> Contents::open(const Disk& disk, const std::string& path) {
  auto layers = open_layers(disk, path);
  if (!layers) return layers.status();
  return of(disk, *std::move(layers));
}

Result<Contents> Contents::of(const Disk& disk, std::vector<Layer> layers) {
  Contents out;
  out.layers_ = std::move(layers);
  if (Status status = out.open_files(disk); !status.ok()) return status;
  for (std::size_t layer = 0; layer + 1 < out.layers_.size(); ++layer) {
    if (Status status = out.find_cells(layer); !status.ok()) return status;
  }
  if (Status status = out.find_blocks(); !status.ok()) return status;
  return out;
}

Status Contents::open_files(const Disk& disk) {
  for (const Layer& layer : layers_) {
    auto& files = files_.emplace_back();
    for (const Part& part : layer.manifest.parts) {
      auto file = disk.open(layer.path + "/" + part.file);
      if (!file) return file.status();
      files.push_back(*std::move(file));
    }
  }
  return ok_status();
}

// A range that this layer has all of is of no earlier one.
Status Contents::find_cells(std::size_t layer) {
  const Manifest& of = layers_[layer].manifest;
  for (std::size_t p = 0; p < of.parts.size(); ++p) {
    const Part& part = of.parts[p];
    const File& file = *files_[layer][p];
    std::size_t found = 0, wanted = 0;
    for (const RangeSet& ranges : part.changed) wanted += ranges.size();
    Status scanned = scan_blocks(file, part, of.tables.size(), [&](const BlockPlace& place) -> Status {
      if (!holds_cells(place)) return ok_status();
      const Place at{place.table.value, place.range.value};
      if (part.changed.empty() || !part.changed[place.table.value].contains(place.range))
        return misplaced_block(file, place, "has cells of a range that it has all of");
      const auto plain = read_plain(file, place);
      if (!plain) return plain.status();
      auto cells = decode_cells(*plain, of.tables[place.table.value].ranges);
      if (!cells) return misplaced_block(file, place, "has no cells");
      ++found;
      Covered& covered = covered_[at];
      if (covered.whole != layer) return ok_status();  // A later one has all.
      covered.whole = layer + 1;
      covered.cells.emplace_back(layer, *std::move(cells));
      return ok_status();
    });
    if (!scanned.ok()) return scanned;
    if (found != wanted)
      return {Code::kModel,
              fmt::format("{}: it has cells of {} ranges, expected {}", file.path(), found, wanted)};
  }
  return ok_status();
}

Status Contents::find_blocks() {
  for (std::size_t layer = layers_.size(); layer-- > 0;) {
    std::vector<std::vector<Block>> by_file;
    std::size_t longest = 0;
    for (std::size_t p = 0; p < files_[layer].size(); ++p) {
      const File& file = *files_[layer][p];
      const Part& part = layers_[layer].manifest.parts[p];
      std::vector<Block>& blocks = by_file.emplace_back();
      Status scanned = scan_blocks(file, part, manifest().tables.size(), [&](const BlockPlace& place) {
        if (holds_cells(place)) return ok_status();
        const Block block{&file, place, layer};
        if (holds_state(place)) {
          if (layer == 0) states_.push_back(block);
          return ok_status();
        }
        const auto covered = covered_.find({place.table.value, place.range.value});
        if (layer <= (covered == covered_.end() ? 0 : covered->second.whole)) blocks.push_back(block);
        return ok_status();
      });
      if (!scanned.ok()) return scanned;
      longest = std::max(longest, blocks.size());
    }
    for (std::size_t at = 0; at < longest; ++at) {
      for (const auto& blocks : by_file) {
        if (at < blocks.size()) rows_.push_back(blocks[at]);
      }
    }
  }
  for (const Block& block : rows_)
    by_range_[{block.place.table.value, block.place.range.value}].push_back(block);
  return ok_status();
}

Result<BlockRows> Contents::read(const Block& block) const {
  const TableRanges& table = manifest().tables[block.place.table.value];
  TableSpec spec;
  spec.name = table.name;
  spec.ranges = table.ranges;
  auto rows = read_rows(*block.file, block.place, spec);
  if (!rows || block.layer == 0) return rows;
  const Covered& covered = covered_.at({block.place.table.value, block.place.range.value});
  const auto stands = [&](std::uint64_t key) {
    return std::ranges::none_of(
        covered.cells, [&](const auto& later) { return later.first < block.layer && later.second.has(key); });
  };
  return some_of(*rows, stands);
}

Status Contents::each(TableId table, RangeId range, const Sink& sink) const {
  const std::span<const Block> blocks = rows(table, range);
  if (blocks.empty()) return ok_status();
  const bool apart =
      blocks.front().layer != blocks.back().layer;  // Rows of some lie between those of others.
  std::vector<BlockRows> all;
  for (const Block& block : blocks) {
    auto rows = read(block);
    if (!rows) return rows.status();
    if (rows->rows.keys.empty()) continue;
    if (apart) {
      all.push_back(*std::move(rows));
    } else if (Status status = sink(*rows); !status.ok()) {
      return status;
    }
  }
  if (all.empty()) return ok_status();
  const auto rows = merged(all);
  if (!rows) return misplaced_block(*blocks.back().file, blocks.back().place, "has rows of another width");
  return sink(*rows);
}

Status Contents::each(TableId table, const Sink& sink) const {
  for (std::uint16_t range = 0; range < manifest().tables[table.value].ranges; ++range) {
    if (Status status = each(table, RangeId{range}, sink); !status.ok()) return status;
  }
  return ok_status();
}

Result<std::uint64_t> Contents::hash() const {
  std::uint64_t sum = 0, count = 0;
  for (const Block& block : rows_) {
    const auto rows = read(block);
    if (!rows) return rows.status();
    const auto keys = rows->rows.keys.as<std::uint64_t>();
    const std::size_t bytes = rows->width * sizeof(float);
    count += keys.size();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint64_t of[] = {block.place.table.value, keys[i],
                                  hash64(rows->rows.values.span().data() + i * bytes, bytes)};
      sum += hash64(of, sizeof of);
    }
  }
  if (count != manifest().rows())
    return Status(Code::kModel, fmt::format("{}: it has {} rows; {} expects {}", layers_.front().path, count,
                                            kManifestFile, manifest().rows()));
  for (const Block& block : states_) {
    const auto state = read_plain(*block.file, block.place);
    if (!state) return state.status();
    const std::uint64_t of[] = {block.place.table.value, block.place.range.value,
                                hash64(state->span().data(), state->size()), 1};
    sum += hash64(of, sizeof of);
  }
  return sum;
}

}  // namespace thalweg::checkpoint
