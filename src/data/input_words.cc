#include "data/input_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/column/column_items.h"
#include "data/scale/value_scales.h"

namespace thalweg {

Status as_input(const Status& status) {
  return status.code() == Code::kIo ? Status(Code::kData, status.message()) : status;
}

std::string empty_files(const std::vector<std::string>& empty) {
  if (empty.empty()) return {};
  return empty.size() == 1
             ? fmt::format("{} has no rows", empty.front())
             : fmt::format("{} files have no rows, the first being {}", empty.size(), empty.front());
}

std::string shared_files(const std::vector<std::string>& trained, const std::vector<std::string>& held_out) {
  const auto shared = std::find_first_of(held_out.begin(), held_out.end(), trained.begin(), trained.end());
  if (shared == held_out.end()) return {};
  return fmt::format("{} is both trained on and held out: the held-out numbers do not tell of new rows",
                     *shared);
}

std::string reordered_files(const DataSet& data) {
  const std::vector<std::string>& files = data.reordered_paths();
  if (files.empty()) return {};
  const std::string first = data.paths().front();
  return files.size() == 1
             ? fmt::format("{} has the columns of {} in another order; its cells are matched by their names",
                           files.front(), first)
             : fmt::format(
                   "{} files have the columns of {} in another order, the first being {}; their cells "
                   "are matched by their names",
                   files.size(), first, files.front());
}

std::string line_of_names(const DataSet& data) {
  constexpr std::size_t kShown = 80;
  const auto items = parse_column_items(data.options().columns, "--columns");
  const auto is_nameless = [](const ColumnItem& item) { return item.name.empty(); };
  if (!data.columns().header || !items || std::ranges::none_of(*items, is_nameless)) return {};
  std::string line = data.columns().header_line.substr(0, kShown);
  line.resize(std::min(line.find_last_not_of("\r\n") + 1, line.size()));
  return fmt::format(
      "{}: the first line is taken for the columns' names, as none of its cells is a number: {}",
      data.paths().front(), line);
}

std::vector<std::string> odd_columns(const DataSet& data) {
  std::vector<std::string> sentences;
  for (const Column& c : data.columns().list) {
    if (c.odd_cell.empty()) continue;
    sentences.push_back(fmt::format(
        "{}: each cell of column \"{}\" is a category, because of \"{}\" in line {}; write numbers plainly, "
        "such as 1234.5, or say --columns {}:cat if categories are meant",
        data.paths().front(), c.name, c.odd_cell, c.odd_line, quoted_column_name(c.name)));
  }
  return sentences;
}

std::vector<std::string> column_table(const DataSet& data) {
  constexpr std::size_t kLinesMax = 64, kNameShown = 24;
  const bool members = data.format().members;
  const std::vector<Column>& all = members ? data.members().list : data.columns().list;
  std::vector<const Column*> found;
  std::uint64_t rows = 0;
  bool features = false;
  for (const Column& c : all) {
    features |= !c.kind_told && c.kind != Column::Kind::kLabel && c.kind != Column::Kind::kWeight;
    const bool number = c.kind == Column::Kind::kNumeric && !c.number_told && c.number.scale != 0;
    if ((!c.kind_told || number) && c.facts.rows > 0) found.push_back(&c);
    features |= number;
    rows = std::max(rows, c.facts.rows);
  }
  if (!features || rows == 0) return {};
  std::vector<std::string> lines = {
      fmt::format("what {} are, by {} rows; --columns says otherwise (NAME:cat, num, num:log, num:bucket, "
                  "num:raw, -):",
                  members ? "members" : "columns", rows),
      fmt::format("  {:<24} {:<14} {:>8} {:>8} {:>12} {:>12}", members ? "member" : "column", "kind",
                  "distinct", "missing", "least", "most")};
  const auto number = [](const Column& c, double v) {
    if (!c.facts.numbers) return std::string("-");
    const auto cell = static_cast<float>(v);  // As which it was read.
    return static_cast<double>(cell) == v ? fmt::format("{}", cell) : fmt::format("{:.8g}", v);
  };
  for (std::size_t i = 0; i < found.size() && i < kLinesMax; ++i) {
    const Column& c = *found[i];
    const bool is_long = c.name.size() > kNameShown;
    const std::string name = is_long ? c.name.substr(0, kNameShown - 3) + "..." : c.name;
    std::string line =
        fmt::format("  {:<24} {:<14} {:>8} {:>8} {:>12} {:>12}", name, column_kind_text(c), c.facts.distinct,
                    c.facts.missing, number(c, c.facts.smallest), number(c, c.facts.largest));
    if (!c.facts.why.empty()) line += "  " + c.facts.why;
    lines.push_back(std::move(line));
  }
  if (found.size() > kLinesMax) lines.push_back(fmt::format("  and {} more", found.size() - kLinesMax));
  return lines;
}

std::string scaled_features(const DataSet& data) {
  const auto scales = ValueScales::parse(data.value_scales());
  if (!scales || scales->empty()) return {};
  const std::vector<std::string>& names = data.scaled_names();
  std::string list;
  std::size_t shown = 0;
  for (const auto& [key, form] : scales->all()) {
    if (shown == names.size()) break;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", names[shown++]);
    if (form.offset != 0) list += fmt::format(" less {}", form.offset);
    list += fmt::format(" by {}", form.scale);
  }
  return fmt::format(
      "values of {} {} are scaled, by their mean and deviation or their mean size: {}{}; --raw-values leaves "
      "them "
      "as they are",
      scales->all().size(), scales->all().size() == 1 ? "feature" : "features", list,
      scales->all().size() > shown ? ", ..." : "");
}

}  // namespace thalweg
