#include <fmt/core.h>

#include <new>
#include <stdexcept>
#include <utility>

#include "table/dense_table.h"
#include "table/sparse_table.h"
#include "table/table.h"
#include "table/validate.h"

namespace thalweg {

Result<std::unique_ptr<Table>> make_table(const TableSpec& spec, RangeSpan owned,
                                          std::shared_ptr<const CustomRule> custom) {
  if (Status status = check_spec(spec, owned, custom.get()); !status) return status;
  if (spec.kind == TableSpec::Kind::kDense) {
    try {
      return std::unique_ptr<Table>(std::make_unique<DenseTable>(spec, owned, std::move(custom)));
    } catch (const std::bad_alloc&) {
      return Status(Code::kIo,
                    fmt::format("table '{}': no memory for ranges [{}, {}) of {} rows of {} floats",
                                spec.name, owned.begin, owned.end, spec.rows, spec.dim));
    } catch (const std::length_error&) {
      return Status(Code::kIo,
                    fmt::format("table '{}': {} rows of {} floats are more than a machine can address",
                                spec.name, spec.rows, spec.dim));
    }
  }
  return std::unique_ptr<Table>(std::make_unique<SparseTable>(spec, owned, std::move(custom)));
}

}  // namespace thalweg
