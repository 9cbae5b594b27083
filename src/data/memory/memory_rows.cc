#include "data/memory/memory_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace thalweg {
namespace {

std::unique_ptr<RowParser> make_memory_parser(const ReadOptions& options, const Columns& columns) {
  return options.memory.at(options.paths.front())->parser(options, columns);
}

constexpr RowFormat kMatrixFormat = {.name = "matrix",
                                     .title = "a matrix in memory",
                                     .ending = "",
                                     .ids = "numbers",
                                     .parser = make_memory_parser};
constexpr RowFormat kTableFormat = {.name = "table",
                                    .title = "a table in memory",
                                    .ending = "",
                                    .ids = "columns",
                                    .columns = true,
                                    .parser = make_memory_parser,
                                    .field_named = field_of_column,
                                    .fields = fields_of_columns};

}  // namespace

Result<std::shared_ptr<const MemoryRows>> find_memory_rows(const ReadOptions& options) {
  const auto& paths = options.paths;
  const auto named = std::find_if(paths.begin(), paths.end(),
                                  [&](const auto& path) { return options.memory.contains(path); });
  if (named == paths.end()) return std::shared_ptr<const MemoryRows>();
  if (paths.size() == 1) return options.memory.at(*named);
  return Status(Code::kUsage, *named + ": rows in memory beside other files; expected them alone");
}

const RowFormat& format_of(const MemoryRows& rows) {
  return rows.has_columns() ? kTableFormat : kMatrixFormat;
}

bool MemoryParser::parse(Cursor& cursor, std::size_t max_rows, BatchWriter& out, RowError& error) {
  for (; cursor.p != cursor.end && out.rows() < max_rows; ++cursor.p) {
    const std::uint64_t row = cursor.row++;
    if (!rules_.wants(row + 1) || take_row(row, out, error)) continue;
    out.abandon_row();
    error.at = cursor.p;
    return false;
  }
  return true;
}

bool MemoryParser::check_label(float& label, RowError& error) const {
  if (rules_.binary_labels && label == -1.0f) label = 0.0f;
  if (rules_.binary_labels && label != 0.0f && label != 1.0f) {
    return fail_saw(error, fmt::format("{}", label), "a label that is -1, 0 or 1");
  }
  if (!std::isfinite(label)) return fail_saw(error, fmt::format("{}", label), "a label (a finite number)");
  if (rules_.counts && label < 0) return fail_saw(error, fmt::format("{}", label), kNotACount);
  return rules_.classes == 0 || is_class(label, rules_.classes) ||
         fail_saw(error, fmt::format("{}", label), class_expected(rules_.classes));
}

bool fail_saw(RowError& error, std::string saw, std::string expected) {
  error.saw = std::move(saw);
  error.expected = std::move(expected);
  return false;
}

}  // namespace thalweg
