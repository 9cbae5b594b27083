#include "train/plan/training_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/hint.h"
#include "data/column/member_kinds.h"
#include "data/input_words.h"
#include "train/plan/row_plan.h"
#include "train/plan/rule_plan.h"
#include "train/rows/label_size.h"
#include "train/warm_start/learnt_keys.h"

namespace thalweg {
namespace {

Status check_features(const DataSet& data) {
  const auto learns = [](const Column& column) { return is_feature(column); };
  if (!data.format().columns || std::ranges::any_of(data.columns().list, learns)) return ok_status();
  return with_hint({Code::kUsage, fmt::format("{}: no column is a feature: {}", data.paths().front(),
                                              columns_text(data.columns()))},
                   "--columns NAME:num or NAME:cat says which are");
}

}  // namespace

Result<std::shared_ptr<DataSet>> open_training(TrainPlan& plan, const WarmStart* start, bool raw) {
  TrainSpec& spec = plan.spec;
  ReadOptions read = spec.train;
  read.shuffle = {};
  const bool asks_order = spec.model.loss == Loss::kLogistic && spec.train.shuffle.order == RowOrder::kFiles;
  read.look_at_labels = asks_order || has_label_size(spec.model.loss) || !read.interactions.empty() ||
                        !read.weight_column.empty() || !read.columns.empty() || spec.model.score_shift != 0;
  read.choose_scales = true;
  read.guess_members = true;
  read.choose_value_scales = !raw;
  if (start != nullptr)
    read.learnt = [start](const std::unordered_set<Key>& keys) { return learnt_keys(start->model(), keys); };
  auto data = DataSet::open(std::move(read));
  if (!data) return as_input(data.status());
  if (Status status = check_features(**data); !status.ok()) return status;
  if (const Status keys = start ? start->check_keys(**data) : ok_status(); !keys.ok()) return keys;
  if (!(*data)->seekable()) plan.pipe = *data;
  plan.warnings = odd_columns(**data);
  if (Status status = check_named_parts(**data); !status.ok()) return status;
  if (std::string odd = odd_labels(**data); asks_order && !odd.empty())
    plan.warnings.push_back(std::move(odd));
  if (spec.model.loss == Loss::kLogistic) plan.rows_without_click = rows_without_click(**data);
  for (std::string& line : absent_names(**data)) plan.warnings.push_back(std::move(line));
  if (std::string line = line_of_names(**data); !line.empty()) plan.notes.push_back(std::move(line));
  for (std::string& line : column_table(**data)) plan.notes.push_back(std::move(line));
  if (std::string line = scaled_features(**data); !line.empty()) plan.notes.push_back(std::move(line));
  spec.train.value_scales = spec.valid.value_scales = (*data)->value_scales();
  if ((*data)->format().columns) {
    spec.train.known_columns = spec.valid.known_columns = columns_text((*data)->columns());
  }
  if ((*data)->format().members) {
    for (ReadOptions* const rows : {&spec.train, &spec.valid}) {
      rows->columns = (*data)->options().columns;
      settle_members(*rows);
    }
  }
  return data;
}

Result<double> mean_entries(const std::shared_ptr<DataSet>& data) {
  constexpr std::size_t kRows = 1024;
  if (!data->seekable()) return data->entries_in_head() > 0 ? data->entries_in_head() : kUnknownEntries;
  auto reader = data->reader_ahead(Reads::kBegin);
  if (!reader) return reader.status();
  Batch batch;
  const auto rows = (*reader)->next(kRows, batch);
  if (!rows) return rows.status();
  if (*rows == 0) return kUnknownEntries;
  return static_cast<double>(batch.entries()) / static_cast<double>(*rows);
}

// Steps should be many for small data, and large for much data, where they cost less a row. Larger steps
// touch frequent factors less often, so their penalty weighs less beside that of rare ones: fewer steps for
// clicks, but layers need many, as each one changes all of them. Rows in memory are counted, and may be few.
std::uint32_t choose_batch(const ModelSpec& model, const ModelKind& kind, double entries,
                           const DataSet& data) {
  constexpr double kBytesPerEntry = 8;
  const double clicks = kind.deep != nullptr ? 1000 : kind.factors ? 50 : 100;
  const double steps_per_pass = model.loss == Loss::kLogistic ? clicks : 200;
  const bool in_memory = data.rows_in_memory() != 0;
  const double rows =
      in_memory ? static_cast<double>(data.rows_in_memory())
                : static_cast<double>(data.total_bytes()) / (kBytesPerEntry * std::max(entries, 1.0));
  return static_cast<std::uint32_t>(std::clamp(rows / steps_per_pass, in_memory ? 64.0 : 256.0, 8192.0));
}

}  // namespace thalweg
