#include "cli/score/feature_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/options/input.h"
#include "cli/work/stored_model.h"
#include "data/pair/interactions.h"

namespace thalweg {

namespace {

// Behind the names of the row's own entries, `own` of them, those of their products.
void add_names_of_pairs(const DataSet& data, const Batch& rows, std::size_t begin, std::size_t own,
                        std::vector<std::string>& names) {
  const auto interactions =
      Interactions::find(data.options().interactions, data.format(), data.columns(), data.paths().front());
  if (!interactions || names.size() != own) return;
  const auto values =
      rows.values.empty() ? std::span<const float>() : std::span(rows.values).subspan(begin, own);
  std::vector<Interactions::Pair> pairs;
  (void)interactions->pairs_of(std::span(rows.fields).subspan(begin, own), values, pairs);
  for (const auto& [first, second] : pairs) {
    if (!values.empty() && values[first] * values[second] == 0.0f) continue;
    names.push_back(fmt::format("{}*{}", names[first], names[second]));
  }
}

}  // namespace

void name_entries(const DataSet& data, const Batch& rows, const RowLines& lines, std::size_t row,
                  std::vector<std::string>& names) {
  const std::size_t begin = rows.row_begin[row], count = rows.row_begin[row + 1] - begin;
  names.clear();
  if (data.format().names != nullptr) {
    const auto fields =
        rows.fields.empty() ? std::span<const std::uint32_t>() : std::span(rows.fields).subspan(begin, count);
    const auto own =
        static_cast<std::size_t>(std::find(fields.begin(), fields.end(), kPairField) - fields.begin());
    data.format().names({lines.line(row), data.options(), data.columns(), fields.first(own)}, names);
    if (own < fields.size()) add_names_of_pairs(data, rows, begin, own, names);
  }
  if (names.size() == count) return;
  names.clear();
  for (std::size_t e = begin; e < begin + count; ++e) names.push_back(fmt::format("{}", rows.keys[e]));
}

Status read_features(const Manifest& manifest, const Options& options, const std::vector<std::string>& files,
                     const std::function<bool(const InputBatch&)>& sink) {
  Result<ReadOptions> read = read_options_for(manifest, options);
  if (!read) return read.status();
  read->paths = files;
  read->labels_needed = false;
  read->binary_labels = manifest.model.loss == Loss::kLogistic;
  read->keep_lines = true;
  const Result<std::unique_ptr<InputRows>> input = InputRows::open(*std::move(read), 1);
  if (!input) return input.status();
  Batch rows;
  for (;;) {
    const Result<std::size_t> count = (*input)->next(rows);
    if (!count) return count.status();
    if (*count == 0 || !sink({(*input)->data(), rows, (*input)->lines()})) return ok_status();
  }
}

Result<std::unordered_map<Key, std::string>> names_of_keys(const Manifest& manifest, const Options& options,
                                                           const std::vector<std::string>& files,
                                                           std::unordered_set<Key> keys) {
  std::unordered_map<Key, std::string> found;
  std::vector<std::string> names;
  const Status status = read_features(manifest, options, files, [&](const InputBatch& batch) {
    for (std::size_t row = 0; row < batch.rows.rows() && !keys.empty(); ++row) {
      const auto begin = batch.rows.keys.begin() + batch.rows.row_begin[row];
      const auto end = batch.rows.keys.begin() + batch.rows.row_begin[row + 1];
      if (std::none_of(begin, end, [&](Key key) { return keys.contains(key); })) continue;
      name_entries(batch.data, batch.rows, batch.lines, row, names);
      for (auto key = begin; key != end; ++key) {
        if (keys.erase(*key) > 0) found.emplace(*key, names[static_cast<std::size_t>(key - begin)]);
      }
    }
    return !keys.empty();
  });
  if (!status.ok()) return status;
  return found;
}

}  // namespace thalweg
