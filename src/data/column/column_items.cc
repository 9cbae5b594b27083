#include "data/column/column_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "data/column/number_form.h"

namespace thalweg {
namespace {

using Kind = Column::Kind;
constexpr std::string_view kNumber = "num";
constexpr std::array<const char*, 5> kKindNames = {"-", "label", "weight", kNumber.data(), "cat"};
constexpr std::array<std::string_view, 3> kShapeNames = {"", "log", "bucket"};  // "raw" is no shape.

std::optional<Kind> kind_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i) {
    if (name == kKindNames[i]) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string(2, c) : std::string(1, c);
  return text + '"';
}

// Nothing if quotes are not closed.
std::optional<std::string> unquoted(std::string_view name) {
  if (!name.starts_with('"')) return std::string(name);
  if (name.size() < 2 || name.back() != '"') return std::nullopt;
  std::string text;
  for (std::size_t i = 1; i + 1 < name.size(); ++i) {
    text += name[i];
    if (name[i] == '"' && name[++i] != '"') return std::nullopt;
  }
  return text;
}

// Where the item that begins at `begin` ends: at a comma outside quotes.
std::size_t item_end(std::string_view text, std::size_t begin) {
  bool inside = false;
  const bool has_quotes = text.substr(begin).starts_with('"');
  for (std::size_t at = begin; at < text.size(); ++at) {
    if (has_quotes && text[at] == '"') inside = !inside;
    if (text[at] == ',' && !inside) return at;
  }
  return text.size();
}

// Where the kind begins: behind the last colon, or behind the one before it where that is one of "num:log".
std::size_t kind_begin(std::string_view item) {
  const std::size_t colon = item.rfind(':');
  if (colon == item.npos) return 0;
  const std::string_view before = item.substr(0, colon);
  const std::string_view last = item.substr(colon + 1);
  const bool is_shape =
      std::any_of(kShapeNames.begin(), kShapeNames.end(),
                  [&](std::string_view name) { return !name.empty() && last.starts_with(name); }) ||
      last.starts_with("raw");
  if (!is_shape || (before != kNumber && !before.ends_with(":num"))) return colon + 1;
  return before.size() - kNumber.size();
}

// What stands behind "num": ":raw", ":log/3.5" and the like.
bool parse_number_form(std::string_view text, ColumnItem& item) {
  item.number_told = true;
  if (text == ":raw") return true;
  if (text.starts_with(':')) {
    text.remove_prefix(1);
    const std::string_view shape = text.substr(0, text.find('/'));
    const auto found = std::find(kShapeNames.begin() + 1, kShapeNames.end(), shape);
    if (found == kShapeNames.end()) return false;
    item.number.shape = static_cast<NumberForm::Shape>(found - kShapeNames.begin());
    text.remove_prefix(shape.size());
  }
  const bool is_bucket = item.number.shape == NumberForm::Shape::kBucket;
  if (!text.empty()) {
    if (is_bucket || !parse_offset_and_scale(text, item.number)) return false;
    item.number_told = !item.number.open;
    return true;
  }
  item.number_told = is_bucket;  // Otherwise its scale is to be chosen.
  return true;
}

bool parse_kind(std::string_view text, ColumnItem& item) {
  const std::optional<Kind> kind = kind_from_name(text);
  if (kind) item.kind = *kind;
  if (kind || !text.starts_with(kNumber)) return kind.has_value();
  item.kind = Kind::kNumeric;
  return parse_number_form(text.substr(kNumber.size()), item);
}

std::optional<ColumnItem> parse_item(std::string_view rest) {
  ColumnItem item;
  const std::size_t begin = kind_begin(rest);
  if (begin > 0) {
    item.quoted = rest.starts_with('"');
    const std::optional<std::string> name = unquoted(rest.substr(0, begin - 1));
    if (!name || name->empty()) return std::nullopt;
    item.name = *name;
    rest.remove_prefix(begin);
  }
  const std::size_t star = rest.find('*');
  if (star != std::string_view::npos) {
    const std::string_view count = rest.substr(star + 1);
    item.count = 0;
    const char* end = count.data() + count.size();
    if (!count.empty()) {
      const auto result = std::from_chars(count.data(), end, item.count);
      if (result.ec != std::errc() || result.ptr != end || item.count == 0 || item.count > 1000000) {
        return std::nullopt;
      }
    }
    rest = rest.substr(0, star);
  }
  if (!parse_kind(rest, item)) return std::nullopt;
  return item;
}

}  // namespace

const char* column_kind_name(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::string column_kind_text(const Column& column) {
  std::string text = column_kind_name(column.kind);
  if (column.kind != Kind::kNumeric) return text;
  if (column.number.shape != NumberForm::Shape::kLinear) {
    text += fmt::format(":{}", kShapeNames[static_cast<std::size_t>(column.number.shape)]);
  }
  if (column.number_told && column.number == NumberForm()) text += ":raw";
  return text + offset_and_scale_text(column.number);
}

bool is_pattern(const ColumnItem& item) {
  return !item.quoted && (item.name.find('*') != std::string::npos || range_of(item));
}

std::optional<std::pair<std::string_view, std::string_view>> range_of(const ColumnItem& item) {
  const std::string_view name = item.name;
  const std::size_t dots = name.find("..");
  if (item.quoted || dots == name.npos || dots == 0 || dots + 2 == name.size()) return std::nullopt;
  return std::pair(name.substr(0, dots), name.substr(dots + 2));
}

bool matches_pattern(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = pattern.npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, taken = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != pattern.npos) {  // The last '*' takes one more.
      p = star + 1, n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

std::string quoted_column_name(const std::string& name) {
  const bool plain = name.find_first_of(",*") == std::string::npos && name.find("..") == std::string::npos &&
                     !name.starts_with('"');
  return plain ? name : quoted_name(name);
}

Result<std::vector<ColumnItem>> parse_column_items(std::string_view text, std::string_view source) {
  std::vector<ColumnItem> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = item_end(text, begin);
    const std::string_view item = text.substr(begin, end - begin);
    std::optional<ColumnItem> parsed = parse_item(item);
    if (!parsed) {
      return Status(
          Code::kUsage,
          fmt::format("{}: saw \"{}\", expected [NAME:]KIND[*[COUNT]] with KIND one of "
                      "label, weight, num, num:raw, num:log, num:bucket, num/SCALE, num-OFFSET/SCALE, cat, -",
                      source, item));
    }
    const auto same = [&](const ColumnItem& other) {
      return !other.name.empty() && other.name == parsed->name;
    };
    if (const auto twice = std::find_if(items.begin(), items.end(), same); twice != items.end()) {
      return Status(Code::kUsage,
                    fmt::format("{}: names \"{}\" twice, as {} and as {}, expected each name once", source,
                                parsed->name, column_kind_name(twice->kind), column_kind_name(parsed->kind)));
    }
    items.push_back(std::move(*parsed));
    begin = end + 1;
  }
  return items;
}

std::string columns_text(const Columns& columns) {
  std::vector<const Column*> features;
  for (const Column& c : columns.list) {
    if (is_feature(c)) features.push_back(&c);
  }
  std::ranges::stable_sort(features, {}, &Column::field);
  auto next = features.begin();
  std::string text;
  for (const Column& there : columns.list) {
    const Column& c = is_feature(there) ? **next++ : there;
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", quoted_column_name(c.name), column_kind_text(c));
  }
  return text;
}

}  // namespace thalweg
