#include "data/reader/column_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace thalweg {
namespace {

using Kind = Column::Kind;
constexpr std::array<const char*, 5> kKindNames = {"-", "label", "weight", "num", "cat"};

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

std::optional<ColumnItem> parse_item(std::string_view rest) {
  ColumnItem item;
  const std::size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos) {
    const std::optional<std::string> name = unquoted(rest.substr(0, colon));
    if (!name || name->empty()) return std::nullopt;
    item.name = *name;
    rest.remove_prefix(colon + 1);
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
  const std::optional<Kind> kind = kind_from_name(rest);
  if (!kind) return std::nullopt;
  item.kind = *kind;
  return item;
}

}  // namespace

const char* column_kind_name(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::string quoted_column_name(const std::string& name) {
  const bool plain = name.find(',') == std::string::npos && !name.starts_with('"');
  return plain ? name : quoted_name(name);
}

Result<std::vector<ColumnItem>> parse_column_items(std::string_view text, std::string_view source) {
  std::vector<ColumnItem> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = item_end(text, begin);
    const std::string_view item = text.substr(begin, end - begin);
    std::optional<ColumnItem> parsed = parse_item(item);
    if (!parsed) {
      return Status(Code::kUsage,
                    fmt::format("{}: saw \"{}\", expected [NAME:]KIND[*[COUNT]] with KIND one of "
                                "label, weight, num, cat, -",
                                source, item));
    }
    items.push_back(std::move(*parsed));
    begin = end + 1;
  }
  return items;
}

std::string columns_text(const Columns& columns) {
  std::string text;
  for (const Column& c : columns.list) {
    text +=
        fmt::format("{}{}:{}", text.empty() ? "" : ",", quoted_column_name(c.name), column_kind_name(c.kind));
  }
  return text;
}

}  // namespace thalweg
