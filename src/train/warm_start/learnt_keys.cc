#include "train/warm_start/learnt_keys.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "data/column/column_items.h"
#include "data/column/columns.h"
#include "data/column/member_kinds.h"
#include "data/reader/row_loop.h"
#include "train/rows/key_ages.h"

namespace thalweg {

Result<std::unordered_set<Key>> learnt_keys(const ModelReader& model, const std::unordered_set<Key>& keys) {
  std::unordered_set<Key> learnt;
  const std::vector<TableManifest>& tables = model.manifest().tables;
  const auto has_keys = [](const TableManifest& table) { return has_model_keys(table.spec); };
  if (std::none_of(tables.begin(), tables.end(), has_keys)) return keys;
  for (std::size_t t = 0; t < tables.size() && !keys.empty(); ++t) {
    if (!has_keys(tables[t])) continue;
    const Status status = model.scan(t, false, [&](const StoredRows& block) {
      for (const Key key : block.keys) {
        if (keys.contains(key)) learnt.insert(key);
      }
      return ok_status();
    });
    if (!status.ok()) return status;
  }
  return learnt;
}

Result<std::string> columns_to_go_on_with(const ModelReader& model) {
  std::string text = model.manifest().option("columns");
  if (text.find("/?") == text.npos || !says_all_columns(text)) return text;
  auto items = parse_column_items(text, "the model's columns");
  if (!items) return items.status();
  const auto is_one = [](const ColumnItem& item) { return item.count == 1 && !item.name.empty(); };
  if (!std::all_of(items->begin(), items->end(), is_one)) return text;
  ReadOptions read;
  read.hash_bits = model.manifest().hash_bits();
  const RowRules rules(read);
  std::unordered_set<Key> open;
  for (const ColumnItem& item : *items) {
    if (item.number.open) open.insert(rules.key(column_salt(item.name)));
  }
  const auto learnt = learnt_keys(model, open);
  if (!learnt) return learnt.status();
  Columns columns;
  for (ColumnItem& item : *items) {
    if (item.number.open && learnt->contains(rules.key(column_salt(item.name))))
      item.number = {NumberForm::Shape::kLog, 0, 1};
    columns.list.push_back({.name = std::move(item.name),
                            .kind = item.kind,
                            .number = item.number,
                            .number_told = item.number_told});
  }
  number_columns(columns);
  return columns_text(columns);
}

}  // namespace thalweg
