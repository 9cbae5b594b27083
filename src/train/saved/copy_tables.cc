#include "train/saved/copy_tables.h"

#include <vector>

#include "base/mix.h"

namespace thalweg {
namespace {

constexpr std::size_t kFloatsATurn = std::size_t{1} << 20;

}  // namespace

Task<Status> copy_tables(const ModelReader& from, ModelWriter& to, ShardStore& store) {
  std::vector<std::uint64_t> placed;
  std::size_t floats = 0;
  for (std::size_t t = 0; t < from.manifest().tables.size(); ++t) {
    const TableManifest& table = from.manifest().tables[t];
    const bool sparse = table.spec.kind == TableSpec::Kind::kSparse;
    Status status = to.begin_table(table.spec, table.rows, table.spec.dim + table.state_floats);
    if (!status.ok()) co_return status;
    ModelReader::Cursor rows = from.rows(t, true);
    for (;;) {
      const auto block = rows.next();
      if (!block) co_return block.status();
      if (block->keys.empty()) break;
      placed.assign(block->keys.begin(), block->keys.end());
      for (std::uint64_t& key : placed) key = sparse ? place(key) : key;
      if (status = to.append(placed, block->rows); !status.ok()) co_return status;
      floats += block->rows.size();
      if (floats < kFloatsATurn) continue;
      floats = 0;
      if (status = (co_await store.yield()).status; !status.ok()) co_return status;
    }
    if (status = to.end_table(); !status.ok()) co_return status;
  }
  co_return ok_status();
}

}  // namespace thalweg
