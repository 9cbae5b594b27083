#include "data/column/columns.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "data/column/column_items.h"
#include "data/column/header.h"
#include "data/reader/cell_words.h"
#include "data/reader/number.h"

namespace thalweg {
namespace {

using Kind = Column::Kind;
using Items = std::vector<ColumnItem>;

bool split_line(const char* p, char separator, HeadCells& cells) {
  std::string scratch;
  std::string_view cell;
  for (cells.clear();; ++p) {
    if (!next_cell(p, separator, cell, scratch)) return false;
    cells.emplace_back(cell);
    if (*p == '\n') return true;
  }
}

char find_separator(std::string_view line) {
  char best = ',';
  std::ptrdiff_t most = 0;
  for (const char candidate : {'\t', ',', ';'}) {
    const std::ptrdiff_t count = std::count(line.begin(), line.end(), candidate);
    if (count > most) most = count, best = candidate;
  }
  return best;
}

// What the cells of the column at `c` say that it is.
void infer_kind(const std::vector<HeadRow>& rows, std::size_t c, Column& column) {
  column.kind = Kind::kNumeric;
  for (const HeadRow& row : rows) {
    const std::string_view cell = c < row.cells.size() ? trimmed(row.cells[c]) : std::string_view();
    if (cell.empty() || says_missing(cell) || is_number_cell(cell)) continue;
    column.kind = Kind::kCategorical;
    if (!means_number(cell)) return column.odd_cell.clear();
    if (column.odd_cell.empty()) column.odd_cell = cell, column.odd_line = row.line;
  }
}

// The columns that are label and weight by their names, where neither options nor --columns say otherwise.
void find_label_and_weight(const ReadOptions& options, Columns& columns) {
  const auto find = [&](std::string_view name) {
    return std::find_if(columns.list.begin(), columns.list.end(),
                        [&](const Column& c) { return c.name == name; });
  };
  if (options.label_column.empty()) {
    for (const std::string_view name : kLabelNames) {
      if (const auto it = find(name); it != columns.list.end()) {
        it->kind = Kind::kLabel;
        break;
      }
    }
  }
  if (options.weight_column.empty()) {
    if (const auto it = find("weight"); it != columns.list.end()) it->kind = Kind::kWeight;
  }
}

// Of many columns some, from this one on.
std::string names_of(const Columns& columns, std::size_t from = 0) {
  constexpr std::size_t kShown = 8, kNameShown = 32;
  const std::size_t count = columns.list.size();
  if (count <= kShown) from = 0;
  const std::size_t end = std::min(from + kShown, count);
  std::string names = from > 0 ? "..." : "";
  for (std::size_t c = from; c < end; ++c) {
    const std::string& name = columns.list[c].name;
    names +=
        (names.empty() ? "" : ", ") + (name.size() <= kNameShown ? name : name.substr(0, kNameShown) + "...");
  }
  return end == count ? names : fmt::format("{} and {} more", names, count - end);
}

// How numbers are taken: a scale that is not said stays as it was.
void set_number(const ColumnItem& item, Column& column) {
  if (item.kind != Kind::kNumeric || item.number_told) {
    column.number = item.number;
  } else if (column.number.shape != item.number.shape || !column.number_told) {
    column.number = item.number;
    column.number_told = false;
    return;
  }
  column.number_told = true;
}

void set_kind(const ColumnItem& item, Column& column) {
  if (column.kind != Kind::kNumeric) column.number_told = false;
  set_number(item, column);
  column.kind = item.kind;
  column.kind_told = true;
  column.odd_cell.clear();
}

Status no_column(const Columns& columns, const std::string& path, std::string_view name) {
  return {Code::kUsage,
          fmt::format("{}: has no column \"{}\", its columns are {}", path, name, names_of(columns))};
}

Status set_kind_by_name(Columns& columns, const std::string& path, const ColumnItem& item) {
  const auto it = std::find_if(columns.list.begin(), columns.list.end(),
                               [&](const Column& c) { return c.name == item.name; });
  if (it == columns.list.end()) return no_column(columns, path, item.name);
  const Kind kind = item.kind;
  // There is one label and one weight: the one that is named takes the part from the one that was found.
  if (kind == Kind::kLabel || kind == Kind::kWeight) {
    for (Column& c : columns.list) {
      if (c.kind == kind) c.kind = Kind::kIgnored;
    }
  }
  set_kind(item, *it);
  return {};
}

// `item`: a range or a pattern.
Status set_kinds_by_pattern(Columns& columns, const std::string& path, const ColumnItem& item) {
  auto first = columns.list.begin(), last = columns.list.end();
  const auto range = range_of(item);
  if (range) {
    const auto find = [&](std::string_view name) {
      return std::find_if(first, columns.list.end(), [&](const Column& c) { return c.name == name; });
    };
    if (first = find(range->first); first == columns.list.end())
      return no_column(columns, path, range->first);
    if (last = find(range->second); last == columns.list.end())
      return no_column(columns, path, fmt::format("{}\" behind \"{}", range->second, range->first));
    ++last;
  }
  std::size_t set = 0;
  for (auto c = first; c != last; ++c) {
    const bool is_target = c->kind == Kind::kLabel || c->kind == Kind::kWeight;
    if (!range && (is_target || !matches_pattern(item.name, c->name))) continue;
    set_kind(item, *c);
    ++set;
  }
  return set > 0 ? Status() : no_column(columns, path, item.name);
}

// Patterns first, then ranges, then what is named itself.
Status set_kinds_by_name(Columns& columns, const std::string& path, const Items& items) {
  const auto is_range = [](const ColumnItem& item) { return range_of(item).has_value(); };
  Status status;
  for (const ColumnItem& item : items) {
    if (status.ok() && is_pattern(item) && !is_range(item))
      status = set_kinds_by_pattern(columns, path, item);
  }
  for (const ColumnItem& item : items) {
    if (status.ok() && is_range(item)) status = set_kinds_by_pattern(columns, path, item);
  }
  for (const ColumnItem& item : items) {
    if (status.ok() && !is_pattern(item)) status = set_kind_by_name(columns, path, item);
  }
  return status;
}

// One item a column, and the names as in the file's header.
bool in_file_order(const Columns& columns, const Items& items) {
  return std::equal(
      items.begin(), items.end(), columns.list.begin(), columns.list.end(),
      [](const ColumnItem& item, const Column& c) { return item.count == 1 && item.name == c.name; });
}

bool all_named(const Items& items) {
  return std::none_of(items.begin(), items.end(), [](const ColumnItem& item) { return item.name.empty(); });
}

Status set_kinds_by_position(Columns& columns, const std::string& path, const Items& items) {
  std::size_t at = 0;
  for (const ColumnItem& item : items) {
    const std::size_t left = columns.list.size() - at;
    const std::size_t count = item.count == 0 ? left : item.count;
    if (count > left)
      return {Code::kUsage,
              fmt::format("{}: has {} columns, --columns names more", path, columns.list.size())};
    for (std::size_t i = 0; i < count; ++i, ++at) {
      set_kind(item, columns.list[at]);
      if (!item.name.empty())
        columns.list[at].name = count == 1 ? item.name : fmt::format("{}{}", item.name, i + 1);
    }
  }
  if (at == columns.list.size()) return {};
  return {Code::kUsage, fmt::format("{}: has {} columns, --columns names {}", path, columns.list.size(), at)};
}

// `columns`: of the options. Those that it does not name stay as they were found.
Status set_given_kinds(Columns& columns, const std::string& path, const ReadOptions& options) {
  const Result<Items> items = parse_column_items(options.columns, "--columns");
  if (!items) return items.status();
  const bool patterns = std::any_of(items->begin(), items->end(), is_pattern);
  if ((columns.header || patterns) && all_named(*items)) return set_kinds_by_name(columns, path, *items);
  return set_kinds_by_position(columns, path, *items);
}

// Scales that were chosen for the data that a model learnt from, where this data's options say none.
Status take_known_numbers(Columns& columns, const std::string& known) {
  const Result<Items> items = parse_column_items(known, "the model's columns");
  if (!items) return items.status();
  std::size_t at = 0;
  for (const ColumnItem& item : *items) {
    const std::size_t count = item.count == 0 ? columns.list.size() : item.count;
    for (std::size_t i = 1; i <= count && i <= columns.list.size(); ++i, ++at) {
      std::string name = item.name.empty() ? fmt::format("c{}", at + 1) : item.name;
      if (!item.name.empty() && count > 1) name += std::to_string(i);
      for (Column& c : columns.list) {
        const bool same = c.name == name && c.kind == item.kind && c.number.shape == item.number.shape;
        if (same && !c.number_told) c.number = item.number, c.number_told = true;
      }
    }
  }
  return {};
}

// Kinds and fields as in the data that the model learns from. Columns that are new here are left out; a
// label, a weight and what was left out there may be missing here.
Status set_known_kinds(Columns& columns, const std::string& path, const ReadOptions& options) {
  Result<Items> items = parse_column_items(options.known_columns, "the model's columns");
  if (!items) return items.status();
  for (ColumnItem& item : *items) item.number_told = !item.number.open;  // No other is chosen anew.
  if (!columns.header || !all_named(*items) || in_file_order(columns, *items)) {
    const auto is_label = [](const ColumnItem& item) { return item.kind == Kind::kLabel && item.count == 1; };
    if (!options.labels_needed && items->size() == columns.list.size() + 1) std::erase_if(*items, is_label);
    return set_kinds_by_position(columns, path, *items);
  }
  std::vector<ColumnItem> found(columns.list.size());
  for (const ColumnItem& item : *items) {
    std::size_t at = 0;
    const auto is_it = [&](const Column& c) { return c.name == item.name || c.name == trimmed(item.name); };
    while (at < columns.list.size() && !is_it(columns.list[at])) ++at;
    const bool feature = is_feature(item.kind);
    if (at < columns.list.size()) {
      found[at] = item;
      columns.list[at].name = item.name;  // Keys are of the model's, which may have the header's blanks.
    } else if (feature) {
      return {Code::kData,
              fmt::format("{}: has no column \"{}\", which the model was trained with; its columns "
                          "are {}",
                          path, item.name, names_of(columns))};
    }
    const bool says_label = !options.label_column.empty() || !options.columns.empty();
    if (at == columns.list.size() && item.kind == Kind::kLabel && options.labels_needed && !says_label) {
      return {Code::kUsage,
              fmt::format(
                  "{}: has no column \"{}\", the label that the model was trained with; --label-column can "
                  "name another (its columns are {})",
                  path, item.name, names_of(columns))};
    }
    if (feature) columns.field_order.push_back(item.name);
  }
  for (std::size_t c = 0; c < found.size(); ++c) set_kind(found[c], columns.list[c]);
  return {};
}

}  // namespace

void number_columns(Columns& columns) {
  std::uint32_t field = 0;
  for (Column& c : columns.list) {
    const auto known = std::find(columns.field_order.begin(), columns.field_order.end(), c.name);
    if (!is_feature(c)) continue;
    c.field = known == columns.field_order.end()
                  ? field++
                  : static_cast<std::uint32_t>(known - columns.field_order.begin());
  }
}

namespace {

Status finish(Columns& columns, const std::string& path, bool labels_needed) {
  std::uint32_t labels = 0, weights = 0;
  for (Column& c : columns.list) {
    if (c.kind != Kind::kCategorical) c.odd_cell.clear();
    c.salt = column_salt(c.name);
    if (c.kind == Kind::kLabel) ++labels;
    if (c.kind == Kind::kWeight) ++weights;
    if (!labels_needed && (c.kind == Kind::kLabel || c.kind == Kind::kWeight)) c.kind = Kind::kIgnored;
  }
  number_columns(columns);
  columns.guessed =
      std::any_of(columns.list.begin(), columns.list.end(), [](const Column& c) { return !c.kind_told; });
  if ((labels == 1 || !labels_needed) && labels <= 1 && weights <= 1) return {};
  if (labels == 0) {
    return {Code::kUsage,
            fmt::format("{}: no column is the label; name it by --label-column or --columns (its columns "
                        "are {})",
                        path, names_of(columns))};
  }
  return {Code::kUsage,
          fmt::format("{}: {} label and {} weight columns, expected one label and at most one weight", path,
                      labels, weights)};
}

}  // namespace

Key column_salt(std::string_view name) {
  return std::min<Key>(XXH3_64bits(name.data(), name.size()), kReservedKey - 1);
}

std::string_view category_text(std::string_view cell) {
  if (!cell.ends_with(".0")) return cell;
  const std::string_view whole = cell.substr(0, cell.size() - 2);
  const std::string_view digits = whole.substr(whole.starts_with('-') ? 1 : 0);
  const bool is_whole = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  return is_whole ? whole : cell;
}

Key category_key(std::string_view cell, Key salt) {
  cell = category_text(cell);
  return std::min<Key>(XXH3_64bits_withSeed(cell.data(), cell.size(), salt), kReservedKey - 1);
}

std::optional<std::uint32_t> field_of_column(std::string_view name, const Columns& columns) {
  for (const Column& column : columns.list) {
    if (is_feature(column) && column.name == name) return column.field;
  }
  return std::nullopt;
}

std::uint32_t fields_of_columns(const Columns& columns) {
  std::uint32_t fields = 0;
  for (const Column& column : columns.list) {
    if (is_feature(column)) fields = std::max(fields, column.field + 1);
  }
  return fields;
}

bool next_cell(const char*& p, char separator, std::string_view& cell, std::string& scratch) {
  if (*p != '"') {
    const char* begin = p;
    while (*p != separator && *p != '\n') ++p;
    const char* end = *p == '\n' && p > begin && p[-1] == '\r' ? p - 1 : p;
    cell = {begin, static_cast<std::size_t>(end - begin)};
    return true;
  }
  const char* begin = ++p;
  scratch.clear();
  for (;; ++p) {
    if (*p == '\n') return false;
    if (*p != '"') continue;
    if (p[1] != '"') break;
    scratch.append(begin, ++p);  // With one of the two quotes.
    begin = p + 1;
  }
  cell = {begin, static_cast<std::size_t>(p - begin)};
  if (!scratch.empty()) {
    const std::size_t size = scratch.append(begin, p).size();
    cell = {scratch.append(kTextPad, '\0').data(), size};
  }
  ++p;
  if (*p == '\r' && p[1] == '\n') ++p;
  return *p == separator || *p == '\n';
}

Result<Columns> find_columns(std::string_view head, const std::string& path, const ReadOptions& options) {
  Columns columns;
  std::vector<HeadRow> rows;
  HeadCells first, cells;
  std::string first_line;
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < head.size() && rows.size() < kHeadRows;) {
    const std::size_t end = std::min(head.find('\n', at), head.size());
    const std::string_view line = head.substr(at, end - at);
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      const std::string copy = std::string(line) + "\n";
      const bool is_first = first.empty();
      if (is_first) columns.separator = find_separator(line);
      if (split_line(copy.c_str(), columns.separator, cells)) {
        if (is_first)
          first = cells, first_line = copy;
        else
          rows.push_back({cells, number});
      }
    }
    at = end + 1;
  }
  if (first.empty())
    return Status(Code::kData, fmt::format("{}:1:1: saw no line, expected a header or a row", path));
  const std::string& told = options.columns.empty() ? options.known_columns : options.columns;
  columns.header = is_header(first, rows) && !is_labelled_row(first, told);
  if (columns.header) columns.header_line = first_line;
  // Where files were joined it stands again among the rows.
  if (columns.header) std::erase_if(rows, [&](const HeadRow& row) { return row.cells == first; });
  if (!columns.header) first.assign(first.size(), std::string());
  for (std::string& name : column_names(std::move(first)))
    columns.list.push_back({std::move(name), Kind::kIgnored, 0, 0});
  if (!columns.header && options.columns.empty() && options.known_columns.empty()) {
    return Status(
        Code::kUsage,
        fmt::format("{}:1:1: saw no header, expected one or --columns, such as label,num*13,cat*", path));
  }
  for (std::size_t c = 0; c < columns.list.size(); ++c) infer_kind(rows, c, columns.list[c]);
  return settle_columns(std::move(columns), path, options);
}

Result<Columns> settle_columns(Columns columns, const std::string& path, const ReadOptions& options) {
  find_label_and_weight(options, columns);
  Status status;
  if (!options.known_columns.empty()) status = set_known_kinds(columns, path, options);
  if (status.ok() && !options.columns.empty()) status = set_given_kinds(columns, path, options);
  using Naming = std::pair<const std::string&, Kind>;
  for (const auto& [name, kind] :
       {Naming(options.label_column, Kind::kLabel), Naming(options.weight_column, Kind::kWeight)}) {
    if (!status.ok() || !options.labels_needed || name.empty() || name == kNoWeights) continue;
    ColumnItem item;
    item.name = name, item.kind = kind;
    status = set_kind_by_name(columns, path, item);
  }
  for (Column& column : columns.list) {
    if (column.kind == Kind::kWeight && options.weight_column == kNoWeights) column.kind = Kind::kIgnored;
  }
  if (status.ok() && !options.known_numbers.empty())
    status = take_known_numbers(columns, options.known_numbers);
  if (status.ok()) status = finish(columns, path, options.labels_needed);
  if (!status.ok()) return status;
  return columns;
}

Status check_same_features(const Columns& columns, const std::string& known, bool fields_matter) {
  const Result<Items> items = parse_column_items(known, "the model's columns");
  if (!items) return items.status();
  std::vector<Column> wanted;  // Of the model, with name, kind and field.
  for (const ColumnItem& item : *items) {
    const std::size_t left = columns.list.size() - std::min(wanted.size(), columns.list.size());
    const std::size_t count = item.count == 0 ? left : item.count;
    for (std::size_t i = 1; i <= count; ++i) {
      std::string name = item.name.empty() ? fmt::format("c{}", wanted.size() + 1) : item.name;
      if (!item.name.empty() && count > 1) name += std::to_string(i);
      wanted.push_back({.name = std::move(name), .kind = item.kind, .number = item.number});
    }
  }
  Columns model;
  model.list = std::move(wanted);
  number_columns(model);
  const auto find = [](const Columns& in, const std::string& name) {
    return std::find_if(in.list.begin(), in.list.end(), [&](const Column& c) { return c.name == name; });
  };
  const auto differs = [](const std::string& name, const std::string& here, const std::string& there) {
    return Status(
        Code::kUsage,
        fmt::format("column \"{}\" is {} here, and the model was trained with it as {}", name, here, there));
  };
  for (const Column& c : model.list) {
    if (!is_feature(c)) continue;
    const auto here = find(columns, c.name);
    const bool missing = here == columns.list.end();
    if (missing || here->kind != c.kind) {
      return differs(c.name, missing ? "missing" : column_kind_name(here->kind), column_kind_name(c.kind));
    }
    if (here->kind == Kind::kNumeric && here->number != c.number && !c.number.open) {
      return differs(c.name, column_kind_text(*here), column_kind_text(c));
    }
    if (!fields_matter || here->field == c.field) continue;
    return differs(c.name, fmt::format("field {}", here->field), fmt::format("field {}", c.field));
  }
  for (const Column& c : columns.list) {
    const auto there = find(model, c.name);
    const bool missing = there == model.list.end();
    if (!is_feature(c) || (!missing && is_feature(*there))) continue;
    return differs(c.name, column_kind_name(c.kind), missing ? "no column" : column_kind_name(there->kind));
  }
  return {};
}

Status check_same_columns(const Columns& first, const std::string& first_path, const Columns& other,
                          const std::string& other_path) {
  const auto same_name = [](const Column& a, const Column& b) { return a.name == b.name; };
  if (first.header == other.header && first.separator == other.separator &&
      std::equal(first.list.begin(), first.list.end(), other.list.begin(), other.list.end(), same_name)) {
    return {};
  }
  const auto same =
      std::mismatch(first.list.begin(), first.list.end(), other.list.begin(), other.list.end(), same_name);
  const auto differs = static_cast<std::size_t>(same.first - first.list.begin());
  return {Code::kData, fmt::format("{}:1:1: saw columns {}, expected {} as in {}", other_path,
                                   names_of(other, differs), names_of(first, differs), first_path)};
}

}  // namespace thalweg
