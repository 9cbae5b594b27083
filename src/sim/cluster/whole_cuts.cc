#include "sim/cluster/whole_cuts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace thalweg::sim {
namespace {

using CutRows = std::map<std::uint64_t, std::vector<float>>;

void add_rows_of(const std::vector<LoadEntry>& entries, RangeId range, const RowCells* but, CutRows& to,
                 std::size_t& width) {
  for (const LoadEntry& entry : entries) {
    if (entry.range != range) continue;
    width = entry.width;
    const auto keys = entry.rows.keys.as<std::uint64_t>();
    const auto rows = entry.rows.values.as<float>();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (but != nullptr && but->has(keys[i])) continue;
      const auto row = rows.subspan(i * width, width);
      THALWEG_CHECK(to.emplace(keys[i], std::vector<float>(row.begin(), row.end())).second,
                    "a row is stored in one place");
    }
  }
}

LoadEntry entry_of(RangeId range, std::size_t width, const CutRows& all) {
  std::vector<std::uint64_t> keys;
  std::vector<float> rows;
  for (const auto& [key, row] : all) {
    keys.push_back(key);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return {range, width, {Bytes::of(std::move(keys)), Bytes::of(std::move(rows))}};
}

// Of one table, by all servers.
std::vector<LoadEntry> earlier_entries(const Cuts& base, std::size_t table) {
  std::vector<LoadEntry> all;
  for (const auto& [server, cut] : base) {
    const auto& some = cut.tables.at(table).entries;
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

void make_whole(TableCut& table, RangeId range, const RowCells& touched,
                const std::vector<LoadEntry>& earlier) {
  CutRows all;
  std::size_t width = 0;
  add_rows_of(earlier, range, &touched, all, width);
  add_rows_of(table.entries, range, nullptr, all, width);
  std::erase_if(table.entries, [&](const LoadEntry& entry) { return entry.range == range; });
  if (!all.empty()) table.entries.push_back(entry_of(range, width, all));
}

}  // namespace

Cuts whole_cuts(Cuts cuts, const Cuts& base) {
  for (auto& [server, cut] : cuts) {
    for (std::size_t t = 0; t < cut.tables.size(); ++t) {
      TableCut& table = cut.tables[t];
      const auto touched = std::exchange(table.touched, nullptr);
      if (touched == nullptr) continue;
      const std::vector<LoadEntry> earlier = earlier_entries(base, t);
      const RangeSet ranges = touched->ranges() - (touched->ranges() - table.owned);
      for (const RangeSpan run : ranges.runs()) {
        for (std::uint16_t range = run.begin; range < run.end; ++range)
          make_whole(table, RangeId{range}, *touched->cells(RangeId{range}), earlier);
      }
    }
  }
  return cuts;
}

}  // namespace thalweg::sim
