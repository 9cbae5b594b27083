#include <utility>

#include "table/dense_table.h"
#include "table/parts/parted_table.h"
#include "table/sparse_table.h"
#include "table/table.h"
#include "table/validate.h"

namespace thalweg {

Result<std::unique_ptr<Table>> make_table(const TableSpec& spec, const RangeSet& owned,
                                          std::shared_ptr<const CustomRule> custom, SideBySide* threads) {
  if (Status status = check_spec(spec, owned, custom.get()); !status.ok()) return status;
  if (spec.kind == TableSpec::Kind::kDense) {
    auto table = std::make_unique<DenseTable>(spec, RangeSet(), std::move(custom));
    if (Status added = table->add(owned); !added.ok()) return added;
    return std::unique_ptr<Table>(std::move(table));
  }
  if (threads != nullptr && threads->width() > 1 && custom == nullptr)
    return std::unique_ptr<Table>(std::make_unique<PartedTable>(spec, owned, custom, *threads));
  return std::unique_ptr<Table>(std::make_unique<SparseTable>(spec, owned, std::move(custom)));
}

}  // namespace thalweg
