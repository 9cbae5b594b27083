#include "cli/work/input_data.h"

namespace thalweg {

Result<std::shared_ptr<DataSet>> open_data(const ReadOptions& read, Output& out) {
  Result<std::shared_ptr<DataSet>> data = DataSet::open(read);
  if (!data) return as_input(data.status());
  warn_of_empty_files((*data)->empty_paths(), out);
  if (const std::string text = reordered_files(**data); !text.empty()) out.note(text);
  if (const std::string text = line_of_names(**data); !text.empty()) out.note(text);
  for (const std::string& text : odd_columns(**data)) out.warn(text);
  return data;
}

Result<Summary> read_all(DataSet& data) {
  Result<Summary> summary = summarize(data);
  if (!summary) return as_input(summary.status());
  return summary;
}

}  // namespace thalweg
