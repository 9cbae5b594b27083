#include "checkpoint/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/limits.h"
#include "model/format/json_bounds.h"
#include "model/format/sealed_json.h"

namespace thalweg::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "thalweg-checkpoint";
constexpr JsonBounds kManifestBounds{.depth = 8, .values = 1u << 20, .names = 4096, .name_bytes = 512};

Json ranges_json(const std::vector<RangeSet>& by_table) {
  Json tables = Json::array();
  for (const RangeSet& ranges : by_table) {
    Json runs = Json::array();
    for (const RangeSpan run : ranges.runs()) runs.push_back({run.begin, run.end});
    tables.push_back(std::move(runs));
  }
  return tables;
}

std::vector<RangeSet> ranges_from(const Json& json) {
  std::vector<RangeSet> by_table;
  for (const Json& runs : json) {
    RangeSet& ranges = by_table.emplace_back();
    for (const Json& run : runs) ranges.add({run.at(0).get<std::uint16_t>(), run.at(1).get<std::uint16_t>()});
  }
  return by_table;
}

Json part_json(const Part& part) {
  Json json = {{"file", part.file},
               {"bytes", part.bytes},
               {"xxh3_128", part.hash},
               {"rows", part.rows},
               {"ranges", ranges_json(part.ranges)}};
  if (!part.headers.empty()) json["headers_xxh3_128"] = part.headers;
  if (!part.changed.empty()) {
    json["changed"] = ranges_json(part.changed);
    json["stored"] = part.stored;
  }
  for (const Reached& of : part.reached) {
    json["reached"].push_back({of.low.epoch, of.low.index, of.reach.epoch, of.reach.index, of.ended});
  }
  return json;
}

Step step_at(const Json& json, std::size_t place) {
  return {json.at(place).get<std::uint32_t>(), json.at(place + 1).get<std::uint32_t>()};
}

Part part_from(const Json& json) {
  Part part;
  part.file = json.at("file").get<std::string>();
  part.bytes = json.at("bytes").get<std::uint64_t>();
  part.hash = json.at("xxh3_128").get<std::string>();
  part.rows = json.at("rows").get<std::uint64_t>();
  part.ranges = ranges_from(json.at("ranges"));
  if (json.contains("headers_xxh3_128")) part.headers = json["headers_xxh3_128"].get<std::string>();
  if (json.contains("changed")) {
    part.changed = ranges_from(json["changed"]);
    part.stored = json.at("stored").get<std::uint64_t>();
  }
  if (!json.contains("reached")) return part;
  for (const Json& of : json["reached"])
    part.reached.push_back({step_at(of, 0), step_at(of, 2), of.at(4).get<bool>()});
  return part;
}

// Whether it is the name of a file in the directory.
bool stays_inside(const std::string& file) {
  return !file.empty() && file.find('/') == file.npos && file.front() != '.' && file != kManifestFile;
}

// What is wrong with what it says of changes alone; empty: nothing.
std::string misread_changes(const Manifest& manifest) {
  bool any = false;
  for (const Part& part : manifest.parts) {
    if (part.changed.empty()) continue;
    if (part.changed.size() != part.ranges.size())
      return part.file + " has changes of another number of tables";
    for (std::size_t t = 0; t < part.changed.size(); ++t) {
      any = any || !part.changed[t].empty();
      if (!(part.changed[t] - part.ranges[t]).empty())
        return part.file + " has changes of key ranges that it has not";
    }
    if (part.stored > part.rows) return part.file + " has more rows than there are";
  }
  if (any != manifest.base.has_value()) return "changes, and what they are since, go together";
  if (!any) return {};
  const std::string& name = manifest.base->name;
  if (name.empty() || name.find('/') != name.npos || name.front() == '.')
    return "what it has the changes since is not named beside it";
  return {};
}

// What is wrong with who has which range; empty: nothing.
std::string misplaced(const Manifest& manifest) {
  for (std::size_t t = 0; t < manifest.tables.size(); ++t) {
    RangeSet all;
    std::size_t ranges = 0;
    for (const Part& part : manifest.parts) {
      if (part.ranges.size() != manifest.tables.size()) return part.file + " is of another number of tables";
      all = all + part.ranges[t];
      ranges += part.ranges[t].size();
    }
    const TableRanges& table = manifest.tables[t];
    if (all != RangeSet(RangeSpan{0, table.ranges}) || ranges != table.ranges) {
      return fmt::format("of table {} its parts have key ranges {}, {} in all, expected each of {} once",
                         table.name, text_of(all), ranges, table.ranges);
    }
  }
  const auto as_first = [&](const Part& part) {
    return part.reached.size() == manifest.parts.front().reached.size();
  };
  if (!std::ranges::all_of(manifest.parts, as_first))
    return "its parts are of different numbers of data shards";
  return {};
}

Manifest manifest_from(const Json& json) {
  Manifest out;
  out.library_version = json.at("library_version").get<std::string>();
  out.step = {json.at("step").at(0).get<std::uint32_t>(), json.at("step").at(1).get<std::uint32_t>()};
  out.job = json.at("job").dump();
  if (json.contains("history")) out.history = json["history"].dump();
  out.inputs = json.at("inputs").get<std::string>();
  out.options = json.at("options").get<std::map<std::string, std::string>>();
  for (const Json& table : json.at("tables"))
    out.tables.push_back({table.at("name").get<std::string>(), table.at("ranges").get<std::uint16_t>()});
  for (const Json& part : json.at("parts")) out.parts.push_back(part_from(part));
  if (json.contains("base"))
    out.base =
        Base{json["base"].at("name").get<std::string>(), json["base"].at("xxh3_128").get<std::string>()};
  return out;
}

}  // namespace

std::uint64_t Manifest::bytes() const {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Part& part) { return sum + part.bytes; });
}

std::uint64_t Manifest::rows() const {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Part& part) { return sum + part.rows; });
}

std::uint64_t Manifest::stored_rows() const {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Part& part) {
                           return sum + (part.changed.empty() ? part.rows : part.stored);
                         });
}

std::vector<Reached> Manifest::reached() const {
  std::vector<Reached> all(parts.empty() ? 0 : parts.front().reached.size());
  for (const Part& part : parts) {
    for (std::size_t shard = 0; shard < all.size(); ++shard) all[shard].add(part.reached[shard]);
  }
  return all;
}

std::uint32_t passes_before(const Manifest& manifest) {
  const std::vector<Reached> reached = manifest.reached();
  return reached.empty() ? open_pass_of(manifest.step) : first_open_pass(reached);
}

std::string to_json(const Part& part) { return part_json(part).dump(); }

Result<Part> parse_part(std::string_view text) {
  try {
    return part_from(Json::parse(text));
  } catch (const Json::exception& error) {
    return Status(Code::kRefused,
                  fmt::format("what a server says that it has stored cannot be read: {}", error.what()));
  }
}

std::string to_json(const Manifest& manifest) {
  const std::uint32_t version = manifest.base                ? kFormatVersionOfChanges
                                : manifest.reached().empty() ? kFormatVersion
                                                             : kFormatVersionOfMarks;
  Json json = {{"format", kFormat},
               {"format_version", version},
               {"library_version", manifest.library_version},
               {"step", {manifest.step.epoch, manifest.step.index}},
               {"job", Json::parse(manifest.job, nullptr, false)},
               {"inputs", manifest.inputs},
               {"options", Json::object()},
               {"tables", Json::array()},
               {"parts", Json::array()}};
  for (const auto& [name, value] : manifest.options) json["options"][name] = value;
  for (const TableRanges& table : manifest.tables)
    json["tables"].push_back({{"name", table.name}, {"ranges", table.ranges}});
  for (const Part& part : manifest.parts) json["parts"].push_back(part_json(part));
  if (!manifest.history.empty()) json["history"] = Json::parse(manifest.history, nullptr, false);
  if (manifest.base) json["base"] = {{"name", manifest.base->name}, {"xxh3_128", manifest.base->hash}};
  return sealed(json.dump(2, ' ', false, Json::error_handler_t::replace));
}

Result<Manifest> parse_manifest(const std::string& path, std::string_view text) {
  const auto error = [&](const std::string& why) { return Status(Code::kModel, path + ": " + why); };
  if (!is_sealed(text)) return error("damaged or edited: its checksum does not match");
  if (const std::string bound = look_over(text, kManifestBounds).exceeded; !bound.empty())
    return error(bound);
  try {
    const Json json = Json::parse(text);
    if (json.at("format").get<std::string>() != kFormat) return error("it is no checkpoint");
    const auto version = json.at("format_version").get<std::uint64_t>();
    if (version < kFormatVersion || version > kFormatVersionOfChanges) {
      return error(fmt::format(
          "checkpoint format version {}, written by library version {}; this program reads versions {} to {}",
          version, json.at("library_version").dump(), kFormatVersion, kFormatVersionOfChanges));
    }
    Manifest out = manifest_from(json);
    for (const Part& part : out.parts) {
      if (!stays_inside(part.file)) return error("a part's file is not named within the directory");
    }
    if (const std::string wrong = misplaced(out); !wrong.empty()) return error(wrong);
    if (const std::string wrong = misread_changes(out); !wrong.empty()) return error(wrong);
    if (out.base.has_value() != (version == kFormatVersionOfChanges))
      return error("what it has the changes since is not of its format version");
    if (!out.base && out.reached().empty() != (version == kFormatVersion))
      return error("what its data shards have reached is not of its format version");
    return out;
  } catch (const Json::exception& wrong) {
    return error(wrong.what());
  }
}

}  // namespace thalweg::checkpoint
