#include "train/rows/data_fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg {

Result<std::uint32_t> count_fields(const std::shared_ptr<DataSet>& data) {
  auto reader = data->reader_ahead();
  if (!reader) return reader.status();
  Batch batch;
  std::uint32_t fields = 0;
  for (;;) {
    const auto rows = (*reader)->next(4096, batch);
    if (!rows) return rows.status();
    if (*rows == 0) return fields;
    for (const std::uint32_t field : batch.fields) fields = std::max(fields, field + 1);
  }
}

std::string place_of_field(DataSet& data, std::uint32_t field) {
  auto reader = data.reader_ahead();
  Batch batch;
  while (reader) {
    const auto rows = (*reader)->next(1, batch);
    if (!rows || *rows == 0) break;
    if (std::find(batch.fields.begin(), batch.fields.end(), field) != batch.fields.end())
      return fmt::format("field {} at {}", field, (*reader)->place_of_last_row());
  }
  return {};
}

}  // namespace thalweg
