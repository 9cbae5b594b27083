#include "data/reader/line_cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/reader/json_members.h"

namespace thalweg {

Result<LineCells> LineCells::find(const DataSet& data, const std::vector<std::string>& names,
                                  std::string_view what) {
  LineCells out;
  const Columns& columns = data.columns();
  if (out.members_ = data.format().members; out.members_) {
    out.names_ = names;
    out.cells_.resize(names.size());
    out.seen_.resize(names.size());
    out.what_ = what;
    return out;
  }
  out.separator_ = columns.separator;
  for (const std::string& name : names) {
    const auto found = std::find_if(columns.list.begin(), columns.list.end(),
                                    [&](const Column& column) { return column.name == name; });
    if (columns.list.empty()) {
      return Status(Code::kUsage,
                    fmt::format("{} {}: the input is {}, expected CSV with such a column, or JSON lines",
                                what, name, data.format().title));
    }
    if (found == columns.list.end()) {
      std::vector<std::string_view> known;
      for (const Column& column : columns.list) known.push_back(column.name);
      return Status(Code::kUsage, fmt::format("{}: there is no column \"{}\", its columns are {}", what, name,
                                              fmt::join(known, ", ")));
    }
    out.columns_.push_back(static_cast<std::size_t>(found - columns.list.begin()));
    out.last_ = std::max(out.last_, out.columns_.back());
  }
  return out;
}

Status LineCells::check_members() const {
  for (std::size_t i = 0; any_ && i < names_.size(); ++i) {
    if (!seen_[i])
      return {Code::kUsage, fmt::format("{}: no row has a member \"{}\" with a value", what_, names_[i])};
  }
  return ok_status();
}

const std::vector<std::string>& LineCells::of(std::string_view line) {
  if (members_) {
    any_ = true;
    find_json_members(line, names_, cells_);
    for (std::size_t i = 0; i < cells_.size(); ++i) seen_[i] = seen_[i] || !cells_[i].empty();
    return cells_;
  }
  all_.resize(last_ + 1);
  for (std::string& cell : all_) cell.clear();
  const char* p = line.data();
  for (std::size_t c = 0; c <= last_; ++c, ++p) {
    std::string_view cell;
    if (!next_cell(p, separator_, cell, scratch_)) break;
    all_[c] = cell;
    if (*p == '\n') break;
  }
  cells_.clear();
  for (const std::size_t c : columns_) cells_.push_back(all_[c]);
  return cells_;
}

Result<std::vector<std::string>> parse_column_names(const std::string& text, std::string_view what) {
  std::vector<std::string> names;
  const std::string line = text + "\n";
  std::string scratch;
  for (const char* p = line.data();; ++p) {
    std::string_view name;
    if (!next_cell(p, ',', name, scratch) || name.empty()) {
      return Status(Code::kUsage,
                    fmt::format("{} '{}': expected names of columns, commas between", what, text));
    }
    names.emplace_back(name);
    if (*p == '\n') return names;
  }
}

void append_csv_cell(std::string_view cell, std::string& out) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += cell;
    return;
  }
  out += '"';
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace thalweg
