#include "model/dense/dense_rows.h"

#include <algorithm>
#include <string>

#include "base/mix.h"

namespace thalweg {

TableSpec table_of(const DenseParameter& parameter, const RuleSpec& rule, std::uint64_t seed,
                   std::size_t number) {
  // Smaller ranges would be more messages, each of which costs as much as carrying so many bytes.
  constexpr std::uint64_t kRangeBytesMin = 16 << 10, kRangesMax = 32;
  TableSpec table;
  table.kind = TableSpec::Kind::kDense;
  table.name = parameter.name;
  table.rows = static_cast<std::uint64_t>(parameter.shape[0]);
  for (std::size_t d = 1; d < parameter.shape.size(); ++d)
    table.dim *= static_cast<std::uint32_t>(parameter.shape[d]);
  const std::uint64_t bytes = table.rows * table.dim * sizeof(float);
  table.ranges = static_cast<std::uint16_t>(
      std::min({table.rows, kRangesMax, std::max<std::uint64_t>(1, bytes / kRangeBytesMin)}));
  table.rule = rule;
  table.init = {parameter.init, parameter.scale, place(seed ^ place(number))};
  return table;
}

Status check_inputs(const Batch& batch, const ModelSpec& spec) {
  for (std::size_t r = 0; r < batch.rows(); ++r) {
    for (std::uint32_t e = batch.row_begin[r]; e < batch.row_begin[r + 1]; ++e) {
      if (batch.keys[e] < spec.inputs) continue;
      const std::string row = batch.rows() == 1 ? "the row" : "row " + std::to_string(r) + " of a batch";
      return {Code::kData, row + " has feature " + std::to_string(batch.keys[e]) + "; model " + spec.name +
                               " takes 0 to " + std::to_string(spec.inputs - 1)};
    }
  }
  return ok_status();
}

void write_inputs(const LocalBatch& batch, std::size_t begin, std::size_t end, std::size_t width,
                  std::vector<float>& out) {
  const Batch& rows = batch.rows();
  out.assign((end - begin) * width, 0.0f);
  for (std::size_t r = begin; r < end; ++r) {
    float* const row = out.data() + (r - begin) * width;
    for (std::uint32_t e = rows.row_begin[r]; e < rows.row_begin[r + 1]; ++e)
      row[batch.local()[e]] += rows.values.empty() ? 1.0f : rows.values[e];
  }
}

}  // namespace thalweg
