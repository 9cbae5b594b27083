#include "data/columns.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "data/number.h"

namespace thalweg {
namespace {

using Kind = Column::Kind;
constexpr std::array<const char*, 5> kKindNames = {"-", "label", "weight", "num", "cat"};
constexpr int kRowsLookedAt = 100;

std::optional<Kind> kind_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i) {
    if (name == kKindNames[i]) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

// One item of the --columns language.
struct Item {
  std::string name;  // Empty if it has none.
  Kind kind = Kind::kIgnored;
  std::size_t count = 1;  // 0: all remaining columns.
};

Status bad_item(std::string_view item) {
  return {Code::kUsage,
          fmt::format("--columns: saw \"{}\", expected [NAME:]KIND[*[COUNT]] with KIND one of label, "
                      "weight, num, cat, -",
                      item)};
}

Result<Item> parse_item(std::string_view text) {
  Item item;
  std::string_view rest = text;
  const std::size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos) {
    item.name = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
    if (item.name.empty()) return bad_item(text);
  }
  const std::size_t star = rest.find('*');
  if (star != std::string_view::npos) {
    const std::string_view count = rest.substr(star + 1);
    item.count = 0;
    const char* end = count.data() + count.size();
    if (!count.empty()) {
      const auto result = std::from_chars(count.data(), end, item.count);
      if (result.ec != std::errc() || result.ptr != end || item.count == 0 || item.count > 1000000) {
        return bad_item(text);
      }
    }
    rest = rest.substr(0, star);
  }
  const std::optional<Kind> kind = kind_from_name(rest);
  if (!kind) return bad_item(text);
  item.kind = *kind;
  return item;
}

Result<std::vector<Item>> parse_items(std::string_view spec) {
  std::vector<Item> items;
  for (std::size_t begin = 0; begin <= spec.size();) {
    const std::size_t end = std::min(spec.find(',', begin), spec.size());
    Result<Item> item = parse_item(spec.substr(begin, end - begin));
    if (!item) return item.status();
    items.push_back(std::move(*item));
    begin = end + 1;
  }
  return items;
}

using Cells = std::vector<std::string>;

bool split_line(const char* p, char separator, Cells& cells) {
  std::string scratch;
  std::string_view cell;
  for (cells.clear();; ++p) {
    if (!next_cell(p, separator, cell, scratch)) return false;
    cells.emplace_back(cell);
    if (*p == '\n') return true;
  }
}

bool is_number(const std::string& cell) {
  float value = 0.0f;
  const std::string padded = cell + "\n" + std::string(kTextPad, '\0');
  const char* end = parse_real(padded.c_str(), padded.c_str() + cell.size(), value);
  return end == padded.c_str() + cell.size();
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

// Kinds of the columns of a file with a header, where neither options nor --columns say otherwise.
void infer_kinds(const std::vector<Cells>& rows, const ReadOptions& options, Columns& columns) {
  const auto find = [&](std::string_view name) {
    return std::find_if(columns.list.begin(), columns.list.end(),
                        [&](const Column& c) { return c.name == name; });
  };
  for (std::size_t c = 0; c < columns.list.size(); ++c) {
    const bool numeric = std::all_of(rows.begin(), rows.end(), [&](const Cells& row) {
      return c >= row.size() || row[c].empty() || is_number(row[c]);
    });
    columns.list[c].kind = numeric ? Kind::kNumeric : Kind::kCategorical;
  }
  if (options.label_column.empty()) {
    for (const char* name : {"label", "target", "click", "clicked", "y"}) {
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

std::string names_of(const Columns& columns) {
  std::string names;
  for (const Column& c : columns.list) names += (names.empty() ? "" : ", ") + c.name;
  return names;
}

Status set_kind_by_name(Columns& columns, const std::string& path, const std::string& name, Kind kind) {
  const auto it =
      std::find_if(columns.list.begin(), columns.list.end(), [&](const Column& c) { return c.name == name; });
  if (it == columns.list.end()) {
    return {Code::kUsage,
            fmt::format("{}: has no column \"{}\", its columns are {}", path, name, names_of(columns))};
  }
  // There is one label and one weight: the one that is named takes the part from the one that was found.
  if (kind == Kind::kLabel || kind == Kind::kWeight) {
    for (Column& c : columns.list) {
      if (c.kind == kind) c.kind = Kind::kIgnored;
    }
  }
  it->kind = kind;
  return {};
}

Status set_kinds_by_position(Columns& columns, const std::string& path, const std::vector<Item>& items) {
  std::size_t at = 0;
  for (const Item& item : items) {
    const std::size_t left = columns.list.size() - at;
    const std::size_t count = item.count == 0 ? left : item.count;
    if (count > left)
      return {Code::kUsage,
              fmt::format("{}: has {} columns, --columns names more", path, columns.list.size())};
    for (std::size_t i = 0; i < count; ++i, ++at) {
      columns.list[at].kind = item.kind;
      if (!item.name.empty())
        columns.list[at].name = count == 1 ? item.name : fmt::format("{}{}", item.name, i + 1);
    }
  }
  if (at == columns.list.size()) return {};
  return {Code::kUsage, fmt::format("{}: has {} columns, --columns names {}", path, columns.list.size(), at)};
}

Status finish(Columns& columns, const std::string& path) {
  std::uint32_t field = 0, labels = 0, weights = 0;
  for (Column& c : columns.list) {
    c.salt = std::min<Key>(XXH3_64bits(c.name.data(), c.name.size()), kReservedKey - 1);
    if (c.kind == Kind::kLabel) ++labels;
    if (c.kind == Kind::kWeight) ++weights;
    if (c.kind == Kind::kNumeric || c.kind == Kind::kCategorical) c.field = field++;
  }
  if (labels == 1 && weights <= 1) return {};
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

const char* column_kind_name(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

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
  std::vector<Cells> rows;
  Cells first, cells;
  std::string first_line;
  for (std::size_t at = 0; at < head.size() && rows.size() < kRowsLookedAt;) {
    const std::size_t end = std::min(head.find('\n', at), head.size());
    const std::string_view line = head.substr(at, end - at);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      const std::string copy = std::string(line) + "\n";
      const bool is_first = first.empty();
      if (is_first) columns.separator = find_separator(line);
      if (split_line(copy.c_str(), columns.separator, cells)) {
        if (is_first)
          first = cells, first_line = copy;
        else
          rows.push_back(cells);
      }
    }
    at = end + 1;
  }
  if (first.empty())
    return Status(Code::kData, fmt::format("{}:1:1: saw no line, expected a header or a row", path));
  columns.header = std::none_of(first.begin(), first.end(), is_number) &&
                   std::none_of(first.begin(), first.end(), [](const std::string& c) { return c.empty(); });
  if (columns.header) columns.header_line = first_line;
  for (std::size_t c = 0; c < first.size(); ++c) {
    columns.list.push_back({columns.header ? first[c] : fmt::format("c{}", c + 1), Kind::kIgnored, 0, 0});
  }
  if (!columns.header && options.columns.empty()) {
    return Status(
        Code::kUsage,
        fmt::format("{}:1:1: saw no header, expected one or --columns, such as label,num*13,cat*", path));
  }
  infer_kinds(rows, options, columns);
  Status status;
  if (!options.columns.empty()) {
    Result<std::vector<Item>> items = parse_items(options.columns);
    if (!items) return items.status();
    const bool by_name = columns.header && std::none_of(items->begin(), items->end(),
                                                        [](const Item& item) { return item.name.empty(); });
    if (!by_name) status = set_kinds_by_position(columns, path, *items);
    for (std::size_t i = 0; by_name && i < items->size() && status; ++i) {
      status = set_kind_by_name(columns, path, (*items)[i].name, (*items)[i].kind);
    }
  }
  using Naming = std::pair<const std::string&, Kind>;
  for (const auto& [name, kind] :
       {Naming(options.label_column, Kind::kLabel), Naming(options.weight_column, Kind::kWeight)}) {
    if (status && !name.empty()) status = set_kind_by_name(columns, path, name, kind);
  }
  if (status) status = finish(columns, path);
  if (!status) return status;
  return columns;
}

Status check_same_columns(const Columns& first, const std::string& first_path, const Columns& other,
                          const std::string& other_path) {
  const auto same_name = [](const Column& a, const Column& b) { return a.name == b.name; };
  if (first.header == other.header && first.separator == other.separator &&
      std::equal(first.list.begin(), first.list.end(), other.list.begin(), other.list.end(), same_name)) {
    return {};
  }
  return {Code::kData, fmt::format("{}:1:1: saw columns {}, expected {} as in {}", other_path,
                                   names_of(other), names_of(first), first_path)};
}

}  // namespace thalweg
