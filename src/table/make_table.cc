#include <utility>

#include "table/dense_table.h"
#include "table/sparse_table.h"
#include "table/table.h"
#include "table/validate.h"

namespace thalweg {

Result<std::unique_ptr<Table>> make_table(const TableSpec& spec, const RangeSet& owned,
                                          std::shared_ptr<const CustomRule> custom) {
  if (Status status = check_spec(spec, owned, custom.get()); !status.ok()) return status;
  if (spec.kind == TableSpec::Kind::kDense) {
    auto table = std::make_unique<DenseTable>(spec, RangeSet(), std::move(custom));
    if (Status added = table->add(owned); !added.ok()) return added;
    return std::unique_ptr<Table>(std::move(table));
  }
  return std::unique_ptr<Table>(std::make_unique<SparseTable>(spec, owned, std::move(custom)));
}

}  // namespace thalweg
